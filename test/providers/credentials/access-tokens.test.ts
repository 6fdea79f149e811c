import { expect, test } from 'vitest'
import { type AccessToken, AccessTokens } from '../../../src/providers/credentials/access-tokens.ts'

/** Tokens by a clock of the test, each for an hour, and how often the key was exchanged. */
function scene() {
  const clock = { now: 0 }
  const tokens = new AccessTokens(() => clock.now)
  let exchanges = 0
  const exchange = async (): Promise<AccessToken> => {
    exchanges++
    return { token: `token-${exchanges}`, expiresAt: clock.now + 3_600_000 }
  }
  return { clock, tokens, exchange, exchanges: () => exchanges }
}

test('a key is exchanged once for all who ask at a time, and for each key by itself', async () => {
  const { tokens, exchange, exchanges } = scene()
  const asked = await Promise.all([1, 2, 3].map(() => tokens.of('one', exchange)))
  expect(asked).toEqual(['token-1', 'token-1', 'token-1'])
  expect(await tokens.of('other', exchange)).toBe('token-2')
  expect(exchanges()).toBe(2)
})

test('a token is used until a minute before its end, and is then renewed once', async () => {
  const { clock, tokens, exchange, exchanges } = scene()
  await tokens.of('one', exchange)
  clock.now = 3_540_000 - 1
  expect(await tokens.of('one', exchange)).toBe('token-1')
  clock.now += 1
  const asked = await Promise.all([1, 2, 3].map(() => tokens.of('one', exchange)))
  expect(asked).toEqual(['token-2', 'token-2', 'token-2'])
  expect(exchanges()).toBe(2)
})

test('an exchange that fails, fails those who wait for it and no others', async () => {
  const { tokens, exchange } = scene()
  const failing = () => Promise.reject(new Error('no answer'))
  const asked = await Promise.allSettled([tokens.of('one', failing), tokens.of('one', exchange)])
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await tokens.of('one', exchange)).toBe('token-1')
})
