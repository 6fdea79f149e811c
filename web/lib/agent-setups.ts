import {
  type AgentFacts,
  type AgentId,
  agentSettings,
  codexConfig,
} from '../../src/core/api/agent-settings.ts'
import { shellQuoted } from './curl-call.ts'

/**
 * The shell commands that point an agent at the gateway. docs/agents.md shows them, the console fills them in, and
 * the release gate runs the agents with nothing else.
 */
export function agentSetup(agent: AgentId, facts: AgentFacts): string {
  const { origin, apiKey, model } = facts
  const base = `${origin}/v2`
  switch (agent) {
    case 'cline':
      return `cline auth -p openai -b ${shellQuoted(base)} \\
  -k ${shellQuoted(apiKey)} \\
  -m ${shellQuoted(model)}`
    case 'pi': {
      const provider = { baseUrl: base, api: 'openai-completions', apiKey, models: [{ id: model }] }
      const config = JSON.stringify({ providers: { shuntyard: provider } }, null, 2)
      return `mkdir -p ~/.pi/agent\ncat > ~/.pi/agent/models.json <<'END'\n${config}\nEND`
    }
    default: {
      const exports = Object.entries(agentSettings(agent, facts).variables).map(
        ([name, value]) => `export ${name}=${shellQuoted(value)}`,
      )
      return [...exports, ...(agent === 'codex' ? [codexFile(facts)] : [])].join('\n')
    }
  }
}

function codexFile(facts: AgentFacts): string {
  const tables = codexConfig(facts).map(({ table, values }) =>
    [
      ...(table === null ? [] : [`[${table}]`]),
      ...Object.entries(values).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
    ].join('\n'),
  )
  return `mkdir -p ~/.codex\ncat > ~/.codex/config.toml <<'END'\n${tables.join('\n\n')}\nEND`
}
