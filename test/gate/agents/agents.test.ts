import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { AGENTS } from '../../../src/core/api/agent-settings.ts'
import { parseBehaviour } from '../../../tools/simulated-providers/behaviour.ts'
import { composeCompletion } from '../../../tools/simulated-providers/completion.ts'
import { PLAIN_REQUEST, readMessages } from '../../../tools/simulated-providers/simulated-request.ts'
import { agentSetup } from '../../../web/lib/agent-setups.ts'
import { WRITTEN_ADDRESS } from '../../../web/lib/docs/doc-text.ts'
import { AGENT_TARGETS, AGENTS_PAGE, readAgentEvidence, withAgentTable } from './agent-evidence.ts'
import { CODING_AGENTS } from './coding-agents.ts'

describe('agents', () => {
  test('are tried by the gate, each that has a guide', () => {
    expect(CODING_AGENTS.map(({ id }) => id)).toEqual(AGENTS.map(({ id }) => id))
  })

  test.each(AGENTS)('the guide of $name has exactly the lines that the gate runs', ({ id, model }) => {
    const lines = agentSetup(id, { origin: WRITTEN_ADDRESS, apiKey: 'sk-sy-…', model })
    expect(readFileSync(AGENTS_PAGE, 'utf8')).toContain(`\`\`\`sh\n${lines}\n\`\`\``)
  })

  test('the table of the docs says what the last run of the gate found', () => {
    const page = readFileSync(AGENTS_PAGE, 'utf8')
    expect(page).toBe(withAgentTable(page, readAgentEvidence()))
  })

  test('the evidence is of the versions that the gate installs', () => {
    const evidence = readAgentEvidence()
    for (const { id, package: pinned } of CODING_AGENTS) {
      expect(evidence[id]?.version).toBe(`${pinned.name} ${pinned.version}`)
      expect(Object.keys(evidence[id]?.outcomes ?? {})).toEqual(Object.keys(AGENT_TARGETS))
    }
  })
})

test('a simulated model makes calls that a script joins in one turn, unless one a turn is asked for', () => {
  const messages = [{ role: 'user', content: 'go({"at":1})\n+ go({"at":2})\ngo({"at":3})' }]
  const tools = [{ name: 'go', parameters: {} }]
  const request = { ...PLAIN_REQUEST, ...readMessages(messages), model: 'echo', stream: false, tools }
  const madeBy = (fields: object) => {
    const whole = { ...request, completionLimit: undefined, responseFormat: null, ...fields }
    const { toolCalls } = composeCompletion(whole, parseBehaviour('echo')!, 'alpha')
    return toolCalls.map(({ arguments: parts }) => JSON.parse(parts.join('')).at)
  }
  expect(madeBy({})).toEqual([1, 2])
  expect(madeBy({ toolResults: ['a', 'b'] })).toEqual([3])
  expect(madeBy({ oneCall: true })).toEqual([1])
})

test('a simulated model makes the calls that a prompt scripts, and later reminders of the user start none', () => {
  const script = 'Do this.\nread({"path":"a b"})\nrun({"command":"read (it)"})\nThen stop.'
  const call = (...results: string[]) => {
    const messages = [
      { role: 'user', content: script },
      ...results.map((content) => ({ role: 'tool', content })),
      { role: 'user', content: 'A reminder: use read.' },
    ]
    const tools = ['read', 'run'].map((name) => ({ name, parameters: {} }))
    const request = { ...PLAIN_REQUEST, ...readMessages(messages), model: 'echo', stream: false, tools }
    const whole = { ...request, completionLimit: undefined, responseFormat: null }
    const { toolCalls } = composeCompletion(whole, parseBehaviour('echo')!, 'alpha')
    return toolCalls.map(({ name, arguments: parts }) => [name, JSON.parse(parts.join(''))])
  }
  expect(call()).toEqual([['read', { path: 'a b' }]])
  expect(call('done')).toEqual([['run', { command: 'read (it)' }]])
  expect(call('done', 'done')).toEqual([])
})
