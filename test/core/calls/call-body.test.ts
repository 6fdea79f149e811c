import { describe, expect, test } from 'vitest'
import { readBody, writeBody } from '../../../src/core/calls/call-body.ts'
import { normalizeExtendedRequest } from '../../../src/core/calls/extended-request.ts'
import { parseClientJson } from '../../../src/core/json/client-json.ts'

const MESSAGES = [
  { role: 'user', content: `é ${'x'.repeat(20_000)}` },
  { role: 'assistant', content: 'Well.' },
]
const PARAMETERS = { temperature: 0.5, tools: [{ type: 'function', function: { name: 'read' } }] }

/** A long chat as it was received. */
function received() {
  const json = Buffer.from(JSON.stringify({ messages: MESSAGES, ...PARAMETERS }, null, 1))
  const read = parseClientJson(json, { depth: 256, values: 100_000 })
  if (read.kind !== 'value') throw new Error(read.kind)
  return normalizeExtendedRequest(read.value as never, read.exact, undefined, read.sent).content
}

describe('the body of a call', () => {
  test.each(['text', 'bytes'])('of the version before is read, as %s', (form) => {
    const json = JSON.stringify({ kind: 'chat', messages: MESSAGES, parameters: PARAMETERS })
    const content = readBody(form === 'text' ? json : Buffer.from(json))
    expect(content).toEqual({ kind: 'chat', messages: MESSAGES, parameters: PARAMETERS })
  })

  test('has what was received once, and nothing of it written again', () => {
    const body = writeBody(received()) as Buffer
    expect(body.indexOf(JSON.stringify(MESSAGES, null, 1).split('\n')[2]!)).toBeGreaterThan(0)
    expect(body.length).toBeLessThan(21_000)
  })

  test('is read as text too, as in a job that replaces a lost one', () => {
    const body = writeBody(received()) as Buffer
    expect(readBody(body.toString())).toEqual(readBody(body))
    expect(readBody(body)).toMatchObject({ messages: MESSAGES, parameters: PARAMETERS })
  })

  test.each([
    ['cut', (body: Buffer) => body.subarray(0, -1)],
    ['cut in its beginning', (body: Buffer) => body.subarray(0, 10)],
    ['of a later version', (body: Buffer) => Buffer.concat([Buffer.from('3'), body.subarray(1)])],
  ])('is refused where it is %s', (_what, damage) => {
    const body = writeBody(received()) as Buffer
    expect(() => readBody(damage(body))).toThrow()
  })
})
