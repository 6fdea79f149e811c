import { expect, test } from 'vitest'
import { judge } from '../../bench/money/judge.mjs'
import { startProvider } from '../../bench/money/provider.mjs'
import { SCENARIOS } from '../../bench/money/scenarios.mjs'

/** The simulated provider as a gateway that charges `chargeOf` what was made. */
async function verdictOf(name: string, chargeOf: (made: number) => number) {
  const provider = await startProvider()
  const gateway = {
    ...{ urls: [provider.url.replace('/v1', '')], model: 'sim', settleMs: 0, parts: ['gateway'] },
    open: async () => ({ id: 'one', key: 'sk-one' }),
    spent: async () =>
      chargeOf([...provider.made.keys()].reduce((sum, id) => sum + provider.tokensOf(id), 0) / 1000),
  }
  try {
    return judge(await SCENARIOS.find((one) => one.name === name)!.run({ gateway, provider }))
  } finally {
    provider.close()
  }
}

test.each(['usage absurd', 'usage late', 'usage missing', 'usage overlapping', 'a preamble of the provider'])(
  'the money bench expects of %s what the provider made',
  async (name) => {
    expect(await verdictOf(name, (made) => made)).toBe('exact')
    expect(await verdictOf(name, (made) => made * 0.5)).toBe('safe')
    expect(await verdictOf(name, (made) => made * 1.5)).toBe('wrong')
    expect(await verdictOf(name, () => 0)).toBe('wrong')
  },
)
