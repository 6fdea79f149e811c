import { readFile, writeFile } from 'node:fs/promises'
import { installPackages } from '../../../tools/launcher/services/install-packages.ts'
import {
  AGENT_EVIDENCE_FILE,
  AGENT_TARGETS,
  AGENTS_PAGE,
  type AgentTarget,
  type AllAgentEvidence,
  readAgentEvidence,
  withAgentTable,
} from './agent-evidence.ts'
import type { CodingAgent } from './coding-agents.ts'
import { runAgent } from './run-agent.ts'

const REASON_CHARS_MAX = 300

/**
 * Has agents do their task with a model of each wire, and records what they did in the evidence and in the docs.
 * @returns whether all of them did it
 */
export async function tryAgents(
  agents: readonly CodingAgent[],
  { url, key }: { url: string; key: string },
  log: (line: string) => void,
): Promise<boolean> {
  const tried: AllAgentEvidence = {}
  let isWhole = true
  for (const agent of agents) {
    const { registry, name, version } = agent.package
    log(`${name} ${version}`)
    const { programs } = await installPackages({ registry, versions: { [name]: version } })
    const outcomes = {} as Record<AgentTarget, string>
    for (const model of Object.keys(AGENT_TARGETS) as AgentTarget[]) {
      outcomes[model] = await runAgent(agent, { url, key, model, programs }).then(
        () => 'passed',
        (error: Error) => `failed: ${error.message.replace(/\s+/g, ' ').slice(0, REASON_CHARS_MAX)}`,
      )
      isWhole &&= outcomes[model] === 'passed'
      log(`  ${model.padEnd(16)} ${outcomes[model]}`)
    }
    tried[agent.id] = { date: new Date().toISOString(), version: `${name} ${version}`, outcomes }
  }
  // Another run may have written its agents meanwhile.
  const evidence = { ...readAgentEvidence(), ...tried }
  await writeFile(AGENT_EVIDENCE_FILE, `${JSON.stringify(evidence, null, 2)}\n`)
  await writeFile(AGENTS_PAGE, withAgentTable(await readFile(AGENTS_PAGE, 'utf8'), evidence))
  return isWhole
}
