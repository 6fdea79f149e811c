import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { costOf } from '../../src/core/billing/pricing.ts'
import { listedRate } from '../../src/core/catalog/token-rates.ts'
import { formatRate, formatUsd, parseRate, parseUsd, picoUsdPerToken } from '../../src/core/kernel/money.ts'

/** A fraction of whole numbers: exact arithmetic that shares nothing with the code under test. */
interface Fraction {
  over: bigint
  under: bigint
}

const fraction = (over: bigint, under: bigint): Fraction => ({ over, under })
const sum = (a: Fraction, b: Fraction) => fraction(a.over * b.under + b.over * a.under, a.under * b.under)
const product = (a: Fraction, b: Fraction) => fraction(a.over * b.over, a.under * b.under)
const isEqual = (a: Fraction, b: Fraction) => a.over * b.under === b.over * a.under
const isAtMost = (a: Fraction, b: Fraction) => a.over * b.under <= b.over * a.under

/** Reads a decimal as school does: the digits over a power of ten. */
function readDecimal(text: string): Fraction {
  const [whole = '', decimals = ''] = text.replace('-', '').split('.')
  const magnitude = BigInt(whole + decimals)
  return fraction(text.startsWith('-') ? -magnitude : magnitude, 10n ** BigInt(decimals.length))
}

const MILLION = fraction(1n, 1_000_000n)
const PICO = fraction(1n, 10n ** 12n)

/** A listed rate, USD per million tokens: up to six decimals. */
const rateText = fc
  .tuple(fc.bigInt(0n, 10_000n), fc.stringMatching(/^\d{0,6}$/))
  .map(([whole, decimals]) => (decimals === '' ? String(whole) : `${whole}.${decimals}`))
const tokens = fc.oneof(fc.nat(), fc.nat({ max: 200_000 }), fc.constantFrom(0, 1, 2 ** 31 - 1))

describe("the cost of a call is the specification's formula, exactly", () => {
  test('cost = (prompt_tokens × prompt_rate + completion_tokens × completion_rate) / 1,000,000', () => {
    fc.assert(
      fc.property(rateText, rateText, tokens, tokens, (promptRate, completionRate, prompt, completion) => {
        const cost = costOf(
          { promptTokens: prompt, completionTokens: completion },
          { prompt: parseRate(promptRate), completion: parseRate(completionRate) },
        )
        const expected = product(
          sum(
            product(fraction(BigInt(prompt), 1n), readDecimal(promptRate)),
            product(fraction(BigInt(completion), 1n), readDecimal(completionRate)),
          ),
          MILLION,
        )
        expect(isEqual(product(fraction(cost, 1n), PICO), expected)).toBe(true)
        // And what leaves the gateway says the same.
        expect(isEqual(readDecimal(formatUsd(cost)), expected)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('rates and amounts read and print without a loss', () => {
    fc.assert(
      fc.property(rateText, fc.bigInt(-(2n ** 63n), 2n ** 63n), (rate, amount) => {
        expect(isEqual(readDecimal(formatRate(parseRate(rate))), readDecimal(rate))).toBe(true)
        const printed = formatUsd(amount as ReturnType<typeof parseUsd>)
        expect(parseUsd(printed)).toBe(amount)
        expect(isEqual(readDecimal(printed), product(fraction(amount, 1n), PICO))).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  test('a listed rate is at least its discount below the list price, and not a millionth more than needed', () => {
    fc.assert(
      fc.property(rateText, fc.integer({ min: 5, max: 100 }), (list, discount) => {
        const price = parseRate(list)
        const { prompt } = listedRate({ prompt: price, completion: picoUsdPerToken(0n) }, discount)
        const bound = product(readDecimal(list), fraction(BigInt(100 - discount), 100n))
        const listed = product(fraction(prompt, 1n), MILLION)
        expect(isAtMost(listed, bound)).toBe(true)
        expect(isAtMost(sum(listed, MILLION), bound)).toBe(false)
      }),
      { numRuns: 1_000 },
    )
  })
})
