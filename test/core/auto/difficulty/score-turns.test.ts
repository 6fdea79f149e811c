import { describe, expect, test } from 'vitest'
import { readTurns, SHIPPED_MODEL, scorePrompt } from '../../../../src/core/auto/difficulty/score-turns.ts'
import type { ChatMessage } from '../../../../src/core/calls/chat-request.ts'
import { contentParts } from '../../../helpers/content-parts.ts'

const HARD =
  'A train leaves A at 60 km/h and another leaves B, 300 km away, at 40 km/h half an hour later. When do they meet, and how far from A? If the first one stops 15 minutes on the way, how does the answer change?'

const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content })
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content })
const score = (messages: ChatMessage[], parameters = {}) => readTurns(messages, parameters).at(-1)!.score

describe('the difficulty of a request', () => {
  test("is its prompt's where there is one message only, also in parts", () => {
    for (const prompt of [HARD, 'hello', '']) {
      expect(score([user(prompt)])).toBe(scorePrompt(prompt, SHIPPED_MODEL))
      expect(score([user([{ type: 'text', text: prompt }])])).toBe(scorePrompt(prompt, SHIPPED_MODEL))
    }
  })

  test('stays near a hard question when short turns follow it, and fades slowly', () => {
    const asked = [user(HARD), assistant('They meet after 3.2 hours.')]
    const first = score([user(HARD)])
    const followed = score([...asked, user('thanks, and in French?')])
    expect(followed).toBeGreaterThan(0.9 * first)
    const later = score([...asked, user('thanks'), assistant('Gladly.'), user('and in Spanish?')])
    expect(later).toBeLessThanOrEqual(followed)
    expect(later).toBeGreaterThan(0.8 * first)
  })

  test('keeps the kind of the hard question while short turns follow it', () => {
    const kind = (messages: ChatMessage[]) => readTurns(messages, {}).at(-1)!.kind
    const asked = [user(HARD), assistant('They meet after 3.2 hours.')]
    expect(kind([user(HARD)])).toBe('word_problems')
    expect(kind([...asked, user('thanks, and in French?')])).toBe('word_problems')
    expect(kind([user('thanks'), assistant('Gladly.'), user(HARD)])).toBe('word_problems')
  })

  test('rises at once when a hard turn follows easy ones', () => {
    const talk = [user('hello'), assistant('Hello!'), user(HARD)]
    expect(score(talk)).toBeGreaterThanOrEqual(scorePrompt(HARD, SHIPPED_MODEL))
  })

  test('rises a little with tools, a schema, images and long context, and never beyond 1', () => {
    const plain = score([user(HARD)])
    expect(score([user(HARD)], { tools: [{}] })).toBeGreaterThan(plain)
    expect(score([user(HARD)], { response_format: { type: 'json_schema' } })).toBeGreaterThan(plain)
    const image = { type: 'image_url', image_url: { url: 'https://images.example/cat.png' } }
    expect(score([user(contentParts({ type: 'text', text: HARD }, image))])).toBeGreaterThan(plain)
    const long = score([{ role: 'system', content: 'context '.repeat(50_000) }, user(HARD)])
    expect(long).toBeGreaterThan(plain)
    expect(long).toBeLessThan(plain + 0.15)
  })

  test('is in the middle where the user has said nothing', () => {
    expect(score([{ role: 'system', content: 'Be kind.' }])).toBe(0.5)
  })

  test('takes under 5 ms for the longest conversation of the longest turns', () => {
    const turns = Array.from({ length: 1_000 }, (_, index) => [
      user(`${index} ${HARD}`.repeat(50)),
      assistant('yes'),
    ])
    const messages = [...turns.flat(), user(HARD.repeat(5_000))]
    const runs = Array.from({ length: 10 }, () => {
      const start = performance.now()
      score(messages)
      return performance.now() - start
    })
    expect(Math.min(...runs)).toBeLessThan(5)
  })
})
