# Gemini CLI. No fork, no list, no resume; load works once and may lose the transcript; errors carry HTTP codes.
agent_install() { npm_install gemini @google/gemini-cli@0.61.0; }
agent_run() {
  local package=$rigs/node/gemini/node_modules/@google/gemini-cli entry
  mkdir -p "$home/.gemini"
  [[ -f $home/.gemini/settings.json ]] || cat >"$home/.gemini/settings.json" <<J
{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},"telemetry":{"enabled":false},
 "privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false,
 "checkpointing":{"enabled":false}},"model":{"name":"gemini-2.5-flash"}}
J
  entry=$("$node_bin/node" -p "Object.values(require('$package/package.json').bin)[0]")
  launch GEMINI_API_KEY=dummy GOOGLE_GEMINI_BASE_URL="$model_url" GEMINI_CLI_NO_RELAUNCH=true -- \
    "$node_bin/node" --require "$here/clock.cjs" "$package/$entry" --acp "$@"
}
