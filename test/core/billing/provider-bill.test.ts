import { expect, test } from 'vitest'
import { compareBill, readProviderBill } from '../../../src/core/billing/provider-bill.ts'

test('reads usage by day and offer, whatever the order of the columns, and adds lines up', () => {
  const text = `cost_usd,day,"model",provider,prompt_tokens,note
1.50,2026-01-31,large-1,acme,100,first
0.25,2026-01-31,"large-1",acme,50,again

2,2026-01-30,org/small,beta,,
`
  expect(readProviderBill(text)).toEqual([
    {
      day: '2026-01-31',
      offerId: 'acme/large-1',
      promptTokens: 150n,
      completionTokens: null,
      costPico: 1_750_000_000_000n,
    },
    {
      day: '2026-01-30',
      offerId: 'beta/org/small',
      promptTokens: null,
      completionTokens: null,
      costPico: 2_000_000_000_000n,
    },
  ])
})

test.each([
  ['day,provider,prompt_tokens', 'the header has no model'],
  ['day,provider,model', 'the header has none of prompt_tokens'],
  ['day,provider,model,cost_usd\n31.1.2026,acme,large-1,1', 'line 2: "31.1.2026" is not a day'],
  ['day,provider,model,cost_usd\n2026-01-31,acme,large-1,1\n2026-01-31,acme,large-1,much', 'line 3: '],
  ['day,provider,model,prompt_tokens\n2026-01-31,acme,large-1,12.5', 'line 2: '],
  [
    'day,provider,model,prompt_tokens\n2026-01-31,acme,large-1,-5',
    'line 2: prompt_tokens is not a whole number',
  ],
  ['day,provider,model,cost_usd\n2026-01-31,acme,large-1,-0.5', 'line 2: cost_usd is negative'],
  ['day,provider,model,cost_usd\n2026-02-31,acme,large-1,1', 'line 2: "2026-02-31" is not a day'],
  ['day,provider,model,cost_usd\n2026-01-31,acme,"large, small",1', 'line 2: has 5 cells, the header 4'],
  ['day,provider,model,cost_usd\n2026-01-31,acme,large-1', 'line 2: has 3 cells, the header 4'],
  ['day,provider,model,cost_usd,cost_usd', 'the header names a column twice'],
])('refuses %j and says why', (text, reason) => {
  expect(() => readProviderBill(text)).toThrow(reason)
})

test('compares what the bill says with our records, and finds what only one of them has', () => {
  const usage = (offerId: string, promptTokens: bigint) => ({
    day: '2026-01-31',
    offerId,
    promptTokens,
    completionTokens: null,
    costPico: null,
  })
  const compared = compareBill(
    [usage('a/one', 1_000n), usage('a/two', 1_000n), usage('a/billed', 5n)],
    [usage('a/one', 1_000n), usage('a/two', 750n), usage('a/recorded', 5n)],
  )
  expect(compared.map(({ offerId, difference }) => [offerId, difference])).toEqual([
    ['a/billed', 1],
    ['a/one', 0],
    ['a/recorded', 1],
    ['a/two', 0.25],
  ])
})
