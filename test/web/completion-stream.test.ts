import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCompletionStream, type StreamPart } from '../../web/lib/completion-stream.ts'

const chunk = (body: object) => `data: ${JSON.stringify({ id: 'chatcmpl_1', ...body })}\n\n`

const WHOLE =
  chunk({ choices: [{ delta: { role: 'assistant', content: 'Grüße, ' } }] }) +
  ': keep-alive\n\n' +
  chunk({ choices: [{ delta: { content: '世界 🚂' } }] }) +
  chunk({
    choices: [{ delta: {}, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 5 },
  }) +
  'data: [DONE]\n\n'

const PARTS: StreamPart[] = [
  { kind: 'text', text: 'Grüße, ', callId: 'chatcmpl_1' },
  { kind: 'text', text: '世界 🚂', callId: 'chatcmpl_1' },
  { kind: 'finish', reason: 'stop', callId: 'chatcmpl_1' },
  {
    kind: 'usage',
    usage: { promptTokens: 3, completionTokens: 5, costUsd: null },
    callId: 'chatcmpl_1',
  },
  { kind: 'done', callId: null },
]

async function* cut(text: string, places: number[]): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  let from = 0
  for (const place of [...places].sort((a, b) => a - b)) {
    yield bytes.slice(from, Math.max(from, place))
    from = Math.max(from, place)
  }
  yield bytes.slice(from)
}

async function read(text: string, places: number[] = []): Promise<StreamPart[]> {
  const parts: StreamPart[] = []
  for await (const part of readCompletionStream(cut(text, places))) parts.push(part)
  return parts
}

describe('the stream of the playground', () => {
  test('reads the same parts wherever the bytes are cut, within a character too', async () => {
    const length = new TextEncoder().encode(WHOLE).length
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(length), { maxLength: 12 }), async (places) => {
        expect(await read(WHOLE, places)).toEqual(PARTS)
      }),
    )
  })

  test('reads lines that end with CR LF, also when cut between the two', async () => {
    const text = WHOLE.replaceAll('\n', '\r\n')
    const cuts = [...text].flatMap((character, index) => (character === '\r' ? [index + 1] : []))
    const ascii = text.replace('Grüße, ', 'Hello, ').replace('世界 🚂', 'world')
    expect((await read(ascii, cuts)).at(-1)).toEqual({ kind: 'done', callId: null })
    expect(await read(text)).toEqual(PARTS)
  })

  test('has no done for a stream that was cut off', async () => {
    const parts = await read(WHOLE.slice(0, WHOLE.indexOf('data: [DONE]')))
    expect(parts).toEqual(PARTS.slice(0, -1))
  })

  test('the playground stream has the error of a broken stream after its text', async () => {
    const broken = chunk({
      choices: [{ delta: {}, finish_reason: 'error' }],
      error: { message: 'It broke.', code: 'all_providers_failed' },
    })
    const parts = await read(chunk({ choices: [{ delta: { content: 'half' } }] }) + broken)
    expect(parts).toEqual([
      { kind: 'text', text: 'half', callId: 'chatcmpl_1' },
      { kind: 'error', message: 'It broke.', code: 'all_providers_failed', callId: 'chatcmpl_1' },
    ])
  })

  test('the playground stream has reasoning, tool calls in pieces and, in its own chunk, the cost', async () => {
    const call = (piece: object) => chunk({ choices: [{ delta: { tool_calls: [piece] } }] })
    const parts = await read(
      chunk({ choices: [{ delta: { reasoning: 'Hm.' } }] }) +
        call({ index: 0, id: 'call_1', function: { name: 'sort', arguments: '' } }) +
        call({ index: 0, function: { arguments: '{}' } }) +
        chunk({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] }) +
        chunk({
          choices: [],
          usage: { prompt_tokens: 3, completion_tokens: 5, cost: 0.000017, cost_usd: '0.000017' },
        }),
    )
    const callId = 'chatcmpl_1'
    expect(parts).toEqual([
      { kind: 'reasoning', text: 'Hm.', callId },
      { kind: 'tool-calls', calls: [{ index: 0, id: 'call_1', name: 'sort', arguments: '' }], callId },
      { kind: 'tool-calls', calls: [{ index: 0, arguments: '{}' }], callId },
      { kind: 'finish', reason: 'tool_calls', callId },
      { kind: 'usage', usage: { promptTokens: 3, completionTokens: 5, costUsd: '0.000017' }, callId },
    ])
  })

  test('throws on an event that is not JSON rather than skip it', async () => {
    await expect(read('data: {"half\n\n')).rejects.toThrow(SyntaxError)
  })
})
