import { beforeAll, expect, test } from 'vitest'
import { ACCOUNTS_MIN, readCompletionTokens } from '../../src/billing/reports/completion-tokens.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { type OwnTokens, ownTokens } from '../../src/core/auto/own-tokens.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import { newCallId } from '../../src/core/kernel/ids.ts'
import { openTestAccount, settlementOf } from '../helpers/billing.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'
import { testLedger } from '../helpers/resources.ts'

const NOW = Date.UTC(2027, 2, 1)
const HOUR_MS = 3_600_000
const MODEL = 'acme/large'

const ledger = testLedger()
let accounts: string[]
beforeAll(async () => {
  accounts = await Promise.all(
    Array.from({ length: ACCOUNTS_MIN + 6 }, () => openTestAccount(ledger.postgres, 1_000_000_000n)),
  )
})

let calls = 0
/** Calls of `auto` that a model completed, with these numbers of tokens. */
function callsOf(accountId: string, tokens: readonly number[], changes: Partial<SettlementRecord> = {}) {
  return tokens.map((completionTokens): SettlementRecord => {
    const admittedAt = NOW - HOUR_MS + calls++
    const base = settlementOf(accountId)
    return {
      ...base,
      id: newCallId(admittedAt),
      requestedModel: 'auto',
      served: { ...base.served!, modelId: MODEL },
      auto: { score: 0.5, profile: 'auto', kind: 'code' },
      usage: { promptTokens: 9, completionTokens },
      chargePico: '51',
      admittedAt,
      finishedAt: admittedAt + 1,
      ...changes,
    }
  })
}

const settle = (records: SettlementRecord[]) => createSettlementStore(ledger.postgres).settle(records)
const read = () => readCompletionTokens(ledger.postgres, NOW)

const { autoLadder } = builtCatalog([
  {
    providers: [{ id: 'acme', base_url: 'http://127.0.0.1:1/v1' }],
    models: [
      {
        id: MODEL,
        vendor: 'acme',
        context_length: 128_000,
        reasoning: true,
        list_price: { prompt: '1', completion: '2' },
        offers: [{ provider: 'acme', upstream_model: 'large' }],
      },
    ],
  },
])
const used = async (inUse: OwnTokens = {}) => ownTokens(await read(), inUse, autoLadder)

test('the tokens of completions are known of many accounts only, and five of them move nothing for the others', async () => {
  const honest = accounts.slice(0, ACCOUNTS_MIN)
  const attackers = accounts.slice(ACCOUNTS_MIN, ACCOUNTS_MIN + 5)
  const flood = Array.from({ length: 100 }, () => 60_000)

  await settle(honest.slice(1).flatMap((account, index) => callsOf(account, [800 + 20 * index])))
  expect(await read()).toEqual([])

  await settle(callsOf(honest[0]!, [900, 1_000, 40_000]))
  expect(await read()).toEqual([{ model: MODEL, kind: 'code', accounts: ACCOUNTS_MIN, tokens: 990 }])
  const before = await used()
  expect(before).toEqual({ [MODEL]: { code: 990 } })

  // One account with a thousand times the tokens, then five.
  await settle(callsOf(attackers[0]!, flood))
  expect(await used(before)).toEqual(before)
  for (const account of attackers.slice(1)) await settle(callsOf(account, flood))
  expect(await used(before)).toEqual(before)
  // Nor do they by themselves make a figure of another kind.
  for (const account of attackers)
    await settle(callsOf(account, flood, { auto: { score: 0.5, profile: 'auto', kind: 'chat' } }))
  expect(await used(before)).toEqual(before)
})

test('completions that were cut, failed, cost nothing or were counted here, and older ones, do not count', async () => {
  const known = await read()
  const last = accounts.at(-1)!
  const old = NOW - 8 * 24 * HOUR_MS
  await settle([
    ...callsOf(last, [9_000], { finishReason: 'length' }),
    ...callsOf(last, [9_000], { status: 'interrupted' }),
    ...callsOf(last, [9_000], { chargePico: '0' }),
    ...callsOf(last, [9_000], { usageSource: 'counted' }),
    ...callsOf(last, [9_000], { auto: undefined! }),
    ...callsOf(last, [9_000]).map((call) => ({ ...call, id: newCallId(old), admittedAt: old })),
  ])
  expect(await read()).toEqual(known)
})
