import { describe, expect, test } from 'vitest'
import {
  isPlausibleCompletion,
  promptFault,
  type UsageLimits,
  withinHold,
} from '../../../../src/calls/worker/attempts/call-usage.ts'

const LIMITS: UsageLimits = {
  promptTokensBound: 100,
  contextLength: 128_000,
  completionLimit: 4_000,
  hasMedia: false,
  contentBytes: 50,
  mayReason: false,
}

describe('the reported tokens of a prompt', () => {
  test.each([1, 7, 100])('are believed up to the bound: %d', (tokens) => {
    expect(promptFault(tokens, LIMITS)).toBeNull()
  })

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60, 2_401, 128_001])(
    'cannot be %d',
    (tokens) => {
      expect(promptFault(tokens, LIMITS)).toBe('absurd')
    },
  )

  test('show a bound that was too low where they are somewhat more, or as much as media may take', () => {
    expect(promptFault(101, LIMITS)).toBe('beyond-bound')
    expect(promptFault(2_400, LIMITS)).toBe('beyond-bound')
    expect(promptFault(100_000, { ...LIMITS, hasMedia: true })).toBe('beyond-bound')
    expect(promptFault(128_001, { ...LIMITS, hasMedia: true })).toBe('absurd')
  })
})

describe('the reported tokens of a completion', () => {
  test.each([1, 12, 300])('are believed where so much text can take them: %d', (tokens) => {
    expect(isPlausibleCompletion(tokens, LIMITS)).toBe(true)
  })

  test.each([0, 301, 4_001, -1, 2.5, Number.NaN])('cannot be %d', (tokens) => {
    expect(isPlausibleCompletion(tokens, LIMITS)).toBe(false)
  })

  test('are believed up to the limit where the model may have reasoned', () => {
    expect(isPlausibleCompletion(4_000, { ...LIMITS, mayReason: true })).toBe(true)
    expect(isPlausibleCompletion(4_001, { ...LIMITS, mayReason: true })).toBe(false)
  })

  test('may be 0 where nothing was said', () => {
    expect(isPlausibleCompletion(0, { ...LIMITS, contentBytes: 0 })).toBe(true)
  })
})

test('our own figures never come to more than was held', () => {
  const much = { promptTokens: 1_000, completionTokens: 9_000 }
  expect(withinHold(much, LIMITS)).toEqual({ promptTokens: 100, completionTokens: 4_000 })
})
