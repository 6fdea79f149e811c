import { shellQuoted } from './snippets.ts'

/** Command-line agents that work with the gateway, each with a model for examples. Each has a section of docs/agents.md. */
export const AGENTS = [
  { id: 'claude-code', name: 'Claude Code', model: 'anthropic/claude-sonnet-5' },
  { id: 'codex', name: 'Codex', model: 'gpt-5.1-codex' },
  { id: 'opencode', name: 'OpenCode', model: 'gpt-4.1' },
  { id: 'aider', name: 'aider', model: 'gpt-4.1' },
  { id: 'cline', name: 'Cline', model: 'gpt-4.1' },
] as const
export type AgentId = (typeof AGENTS)[number]['id']

interface SetupFacts {
  /** The gateway's address without a path. */
  origin: string
  apiKey: string
  model: string
}

/**
 * The shell commands that point an agent at the gateway. docs/agents.md shows them, the console fills them in, and
 * the release gate runs the agents with nothing else.
 */
export function agentSetup(agent: AgentId, { origin, apiKey, model }: SetupFacts): string {
  const base = `${origin}/v2`
  switch (agent) {
    case 'claude-code':
      return `export ANTHROPIC_BASE_URL=${shellQuoted(base)}
export ANTHROPIC_AUTH_TOKEN=${shellQuoted(apiKey)}
export ANTHROPIC_MODEL=${shellQuoted(model)}`
    case 'codex':
      return `export SWITCHYARD_API_KEY=${shellQuoted(apiKey)}
mkdir -p ~/.codex
cat > ~/.codex/config.toml <<'END'
model = ${JSON.stringify(model)}
model_provider = "switchyard"

[model_providers.switchyard]
name = "Switchyard"
base_url = ${JSON.stringify(base)}
env_key = "SWITCHYARD_API_KEY"
wire_api = "responses"
supports_websockets = true
END`
    case 'opencode': {
      const options = { baseURL: base, apiKey }
      const provider = { npm: '@ai-sdk/openai-compatible', options, models: { [model]: {} } }
      const config = { model: `switchyard/${model}`, provider: { switchyard: provider } }
      return `export OPENCODE_CONFIG_CONTENT=${shellQuoted(JSON.stringify(config, null, 2))}`
    }
    case 'aider':
      return `export OPENAI_API_BASE=${shellQuoted(base)}
export OPENAI_API_KEY=${shellQuoted(apiKey)}
export AIDER_MODEL=${shellQuoted(`openai/${model}`)}`
    case 'cline':
      return `cline auth -p openai -b ${shellQuoted(base)} \\
  -k ${shellQuoted(apiKey)} \\
  -m ${shellQuoted(model)}`
  }
}
