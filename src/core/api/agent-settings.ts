/** Command-line agents that work with the gateway, each with a model for examples. Each has a section of docs/agents.md. */
export const AGENTS = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    model: 'anthropic/claude-sonnet-5',
    program: 'claude',
    install: 'npm install -g @anthropic-ai/claude-code',
  },
  {
    id: 'codex',
    name: 'Codex',
    model: 'gpt-5.1-codex',
    program: 'codex',
    install: 'npm install -g @openai/codex',
  },
  {
    id: 'opencode',
    name: 'OpenCode',
    model: 'gpt-4.1',
    program: 'opencode',
    install: 'npm install -g opencode-ai',
  },
  {
    id: 'qwen-code',
    name: 'Qwen Code',
    model: 'gpt-4.1',
    program: 'qwen',
    install: 'npm install -g @qwen-code/qwen-code',
  },
  {
    id: 'aider',
    name: 'aider',
    model: 'gpt-4.1',
    program: 'aider',
    install: 'pip install aider-chat',
  },
  {
    id: 'pi',
    name: 'pi',
    model: 'gpt-4.1',
    program: 'pi',
    install: 'npm install -g @earendil-works/pi-coding-agent',
  },
  {
    id: 'cline',
    name: 'Cline',
    model: 'gpt-4.1',
    program: 'cline',
    install: 'npm install -g cline',
  },
] as const
export type Agent = (typeof AGENTS)[number]
export type AgentId = Agent['id']

export interface AgentFacts {
  /** The gateway's address without a path. */
  origin: string
  apiKey: string
  model: string
}

/** How one process of an agent is pointed at the gateway. Nothing of it is written to a file. */
export interface AgentSettings {
  /** Environment variables. */
  variables: Record<string, string>
  /** Arguments of its program, before all others. */
  options: string[]
  /** Variables that would win over these. */
  cleared?: string[]
}

/** Agents that take all of their settings from their environment and their arguments. */
export type LaunchedAgentId = Exclude<AgentId, 'cline' | 'pi'>

/** The settings of an agent. The docs, the console, the release gate and the command `launch` have them from here. */
export function agentSettings(agent: LaunchedAgentId, { origin, apiKey, model }: AgentFacts): AgentSettings {
  const base = `${origin}/v2`
  switch (agent) {
    case 'claude-code':
      return {
        variables: { ANTHROPIC_BASE_URL: base, ANTHROPIC_AUTH_TOKEN: apiKey, ANTHROPIC_MODEL: model },
        options: [],
        cleared: ['ANTHROPIC_API_KEY'],
      }
    case 'codex':
      return {
        variables: { SHUNTYARD_API_KEY: apiKey },
        options: codexConfig({ origin, model }).flatMap(({ table, values }) =>
          Object.entries(values).flatMap(([name, value]) => [
            '-c',
            `${table === null ? '' : `${table}.`}${name}=${JSON.stringify(value)}`,
          ]),
        ),
      }
    case 'opencode': {
      const provider = {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: base, apiKey },
        models: { [model]: {} },
      }
      const config = { model: `shuntyard/${model}`, provider: { shuntyard: provider } }
      return { variables: { OPENCODE_CONFIG_CONTENT: JSON.stringify(config, null, 2) }, options: [] }
    }
    case 'qwen-code':
      return {
        variables: { OPENAI_BASE_URL: base, OPENAI_API_KEY: apiKey, OPENAI_MODEL: model },
        options: ['--auth-type', 'openai'],
      }
    case 'aider':
      return {
        variables: { OPENAI_API_BASE: base, OPENAI_API_KEY: apiKey, AIDER_MODEL: `openai/${model}` },
        options: [],
      }
  }
}

/** What Codex has no variables for: the tables of its TOML file, of which the first has no name. */
export const codexConfig = ({ origin, model }: Pick<AgentFacts, 'origin' | 'model'>) => [
  { table: null, values: { model, model_provider: 'shuntyard' } },
  {
    table: 'model_providers.shuntyard',
    values: {
      name: 'Shuntyard',
      base_url: `${origin}/v2`,
      env_key: 'SHUNTYARD_API_KEY',
      wire_api: 'responses',
      supports_websockets: true,
    },
  },
]
