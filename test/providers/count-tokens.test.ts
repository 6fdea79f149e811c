import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import type { ChatContent } from '../../src/core/calls/chat-request.ts'
import { countPromptTokens, countTextTokens } from '../../src/providers/count-tokens.ts'
import { contentParts, pngUrl } from '../helpers/content-parts.ts'
import { onBusyMachine } from '../helpers/eventually.ts'

describe('countTextTokens', () => {
  test('counts as the o200k_base vocabulary does', async () => {
    expect(await countTextTokens('')).toBe(0)
    expect(await countTextTokens('hello world')).toBe(2)
  })

  test('special tokens in a text are text', async () => {
    expect(await countTextTokens('<|endoftext|>')).toBeGreaterThan(1)
  })

  test('long texts are counted in pieces, with hardly a difference', async () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(1_000)
    const whole = countTokens(text)
    expect(Math.abs((await countTextTokens(text)) - whole) / whole).toBeLessThan(0.01)
  })

  test('a long run without a space takes no unbounded time', async () => {
    const startedAt = performance.now()
    expect(await countTextTokens('a'.repeat(200_000))).toBeGreaterThan(1_000)
    expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(5_000))
  })
})

test('a prompt counts its messages, names and tools, and its media by the figures of the model', async () => {
  const plain = await countPromptTokens({
    kind: 'chat',
    messages: [{ role: 'user', content: 'hello world' }],
    parameters: {},
  })
  expect(plain).toBe(2 + 4 + 3)
  const body: ChatContent = {
    kind: 'chat',
    messages: [
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'hello world' },
          ...contentParts({ type: 'image_url', image_url: { url: pngUrl(512, 512) } }),
        ],
      },
    ],
    parameters: { tools: [{ type: 'function', function: { name: 'f' } }] },
  }
  const text = await countPromptTokens(body)
  expect(text).toBeGreaterThan(plain)
  expect(await countPromptTokens(body, { bound: { image: 267 }, likely: { image: 255 } })).toBe(text + 255)
})
