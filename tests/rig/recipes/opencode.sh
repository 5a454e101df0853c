# OpenCode. Forks at the head only (an unknown fork point is ignored: it forks everything), resume, list, close.
agent_install() { npm_install opencode opencode-ai@1.18.33; }
agent_run() {
  mkdir -p "$home/.config/opencode"
  cat >"$home/.config/opencode/opencode.json" <<J
{"model":"fake/fake-model","small_model":"fake/fake-small","autoupdate":false,"share":"disabled",
 "permission":{"edit":"ask","bash":"ask","webfetch":"ask"},
 "provider":{"fake":{"npm":"@ai-sdk/openai-compatible","name":"Fake","options":{"baseURL":"$model_url/v1","apiKey":"dummy"},
  "models":{"fake-model":{"name":"Fake Model","limit":{"context":200000,"output":8192}},
            "fake-small":{"name":"Fake Small","limit":{"context":200000,"output":8192}}}}}}
J
  launch OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1 \
    OPENCODE_DISABLE_DEFAULT_PLUGINS=1 -- \
    "$rigs/node/opencode/node_modules/opencode-linux-$arch/bin/opencode" acp "$@"
}
