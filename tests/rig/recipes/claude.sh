# Claude Code through its adapter. Richest: fork, fork at a message (unadvertised), resume, list, delete, options.
agent_install() { npm_install claude @agentclientprotocol/claude-agent-acp@0.101.0; }
agent_run() {
  # It begins in Auto, where a model judges each call, and the fake one cannot; Manual asks, as before 0.101.
  if [[ ! -f $home/.claude/settings.json ]]; then
    mkdir -p "$home/.claude" && echo '{"permissions": {"defaultMode": "default"}}' >"$home/.claude/settings.json"
  fi
  launch ANTHROPIC_BASE_URL="$model_url" ANTHROPIC_API_KEY=sk-ant-dummy-000 \
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 DISABLE_ERROR_REPORTING=1 ENABLE_TOOL_SEARCH=false -- \
    "$node_bin/node" "$rigs/node/claude/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js" "$@"
}
