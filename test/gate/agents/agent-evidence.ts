import { readFileSync } from 'node:fs'
import { AGENTS, type AgentId } from '../../../src/core/api/agent-settings.ts'
import { AGENTS_NOT_RUN } from './coding-agents.ts'

/** What the last run of the gate found of the agents; checked in. */
export const AGENT_EVIDENCE_FILE = new URL('./agent-evidence.json', import.meta.url)
/** The page with the table of it. */
export const AGENTS_PAGE = new URL('../../../docs/agents.md', import.meta.url)

/** The models that agents are tried with, by what their provider speaks. */
export const AGENT_TARGETS = {
  'agent/chat': 'chat completions',
  'agent/messages': 'messages',
  'agent/generate': 'generateContent',
  'agent/responses': 'responses',
} as const
export type AgentTarget = keyof typeof AGENT_TARGETS

export interface AgentEvidence {
  /** ISO, in UTC. */
  date: string
  /** The package and its version. */
  version: string
  /** By target: `passed`, or why not. */
  outcomes: Record<AgentTarget, string>
}
export type AllAgentEvidence = Partial<Record<AgentId, AgentEvidence>>

export const readAgentEvidence = (): AllAgentEvidence => JSON.parse(readFileSync(AGENT_EVIDENCE_FILE, 'utf8'))

const HEAD = ['agent', ...Object.values(AGENT_TARGETS), 'package', 'tried'] as const
const TABLE = new RegExp(String.raw`\| ${HEAD.join(String.raw` \| `)} \|\n(\|.*\n)+`)

/** The page with its table as the evidence has it. */
export function withAgentTable(page: string, evidence: AllAgentEvidence): string {
  if (!TABLE.test(page)) throw new Error('docs/agents.md has no table of agents')
  const tried = AGENTS.map(({ id, name }) => {
    const { outcomes, version = '', date = '' } = evidence[id] ?? {}
    const targets = Object.keys(AGENT_TARGETS) as AgentTarget[]
    const cells = targets.map((target) => shown(outcomes?.[target]))
    return [`[${name}](#${id})`, ...cells, version, date.slice(0, 10)]
  })
  const others = AGENTS_NOT_RUN.map(({ name, package: version, reason }) => [
    name,
    ...Object.keys(AGENT_TARGETS).map(() => 'not applicable'),
    version,
    reason,
  ])
  const lines = [HEAD, HEAD.map(() => '---'), ...tried, ...others]
  return page.replace(TABLE, () => lines.map((cells) => `| ${cells.join(' | ')} |\n`).join(''))
}

function shown(outcome: string | undefined): string {
  if (outcome === undefined) return 'not tried'
  return outcome === 'passed' ? 'works' : 'fails'
}
