import { describe, expect, test } from 'vitest'
import { parseExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { REASONING_EFFORTS } from '../../../src/core/calls/request-parameters.ts'
import {
  type ChatSettings,
  NO_SETTINGS,
  REASONING_EFFORTS as SHOWN_EFFORTS,
  settingsBody,
  settingsCount,
  settingsProblems,
} from '../../../web/lib/playground/chat-settings.ts'

const ALL: ChatSettings = {
  models: ['acme/swift', 'auto'],
  system: 'Antworte “kurz” & höflich.\n100 %',
  temperature: '0.7',
  top_p: '.9',
  max_tokens: '200',
  stop: 'END\n\\n\\n',
  seed: '-7',
  reasoning_effort: 'low',
  response_format: 'json_schema',
  schema: '{"type":"object"}',
  tools: '[{"type":"function","function":{"name":"sort","parameters":{"type":"object"}}}]',
}

describe('settings of the playground', () => {
  test('make a body that the extended contract takes', () => {
    expect(settingsProblems(ALL)).toEqual({})
    const body = settingsBody(ALL)
    expect(body).toMatchObject({ temperature: 0.7, top_p: 0.9, stop: ['END', '\n\n'], seed: -7 })
    const request = { model: 'auto', messages: [{ role: 'user', content: 'Hi' }], ...body }
    expect(() => parseExtendedRequest(request)).not.toThrow()
    expect(SHOWN_EFFORTS).toEqual(REASONING_EFFORTS)
  })

  test('send nothing where nothing was chosen', () => {
    expect(settingsBody(NO_SETTINGS)).toEqual({})
    expect(settingsCount(NO_SETTINGS)).toBe(0)
    expect(settingsCount(ALL)).toBe(9)
  })

  test.each([
    ['temperature', '2.5', 'Enter a number from 0 to 2.'],
    ['top_p', 'x', 'Enter a number from 0 to 1.'],
    ['seed', '1.5', 'Enter a whole number.'],
    ['tools', '{}', 'Enter a JSON array of tools.'],
    ['tools', '[', /^This is not valid JSON/],
    ['stop', 'a\nb\nc\nd\ne', 'At most 4 stop sequences.'],
  ] as const)('say what is wrong with %s: %s', (name, text, problem) => {
    const found = settingsProblems({ ...NO_SETTINGS, [name]: text })[name]
    if (typeof problem === 'string') expect(found).toBe(problem)
    else expect(found).toMatch(problem)
  })
})
