import { beforeAll, describe, expect, test } from 'vitest'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { toListedCall } from '../../../src/billing/call-records/call-record.ts'
import { operatorCall } from '../../../src/billing/call-records/operator-call.ts'
import { createMarginStore } from '../../../src/billing/reports/margin-store.ts'
import {
  createSettlementStore,
  type SettlementStore,
} from '../../../src/billing/settlement/settlement-store.ts'
import { callCreatedAt } from '../../../src/core/kernel/ids.ts'
import { formatUsd, picoUsd } from '../../../src/core/kernel/money.ts'
import { failedSettlementOf, openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

describe('the settlement store', () => {
  let store: SettlementStore
  const ledger = testLedger()
  beforeAll(() => {
    store = createSettlementStore(ledger.postgres)
  })

  const balanceOf = async (id: string) => {
    const { balancePico, version } = await ledger.postgres.account.findUniqueOrThrow({ where: { id } })
    return { balancePico, version }
  }

  test('charges every call of a batch and moves each account once', async () => {
    const one = await openTestAccount(ledger.postgres, 1_000n)
    const other = await openTestAccount(ledger.postgres, 1_000n)
    const calls = [settlementOf(one), settlementOf(other), settlementOf(one)]
    const { accounts, quarantined } = await store.settle(calls)
    expect(quarantined).toEqual([])
    expect(accounts.sort((a, b) => (a.accountId < b.accountId ? -1 : 1))).toEqual(
      [
        {
          accountId: one,
          balancePico: 900n,
          version: 2n,
          released: [
            { callId: calls[0]?.id, chargePico: 50n },
            { callId: calls[2]?.id, chargePico: 50n },
          ],
        },
        {
          accountId: other,
          balancePico: 950n,
          version: 2n,
          released: [{ callId: calls[1]?.id, chargePico: 50n }],
        },
      ].sort((a, b) => (a.accountId < b.accountId ? -1 : 1)),
    )
  })

  test("captures what a call on the client's own provider key costs as a fee, apart from revenue", async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const call = settlementOf(account)
    const onOwnKey = settlementOf(account, {
      served: {
        ...call.served!,
        cost: { prompt: '0', completion: '0' },
        providerKeyId: 'pkey_1',
      },
    })
    await store.settle([call, onOwnKey])
    const entries = await ledger.postgres.ledgerEntry.findMany({
      where: { transactionId: { in: [call.id, onOwnKey.id] }, amountPico: { gt: 0 } },
    })
    expect(Object.fromEntries(entries.map((entry) => [entry.transactionId, entry.ledgerAccount]))).toEqual({
      [call.id]: 'revenue',
      [onOwnKey.id]: 'byok_fees',
    })
    const records = await ledger.postgres.callRecord.findMany({ where: { accountId: account } })
    expect(
      Object.fromEntries(records.map((record) => [record.id, [record.isByok, record.providerKeyId]])),
    ).toEqual({
      [call.id]: [false, null],
      [onOwnKey.id]: [true, 'pkey_1'],
    })
    const { metrics, checks } = await auditLedger(ledger.postgres, { reach: 'full' })
    expect(checks.filter(({ broken }) => broken > 0)).toEqual([])
    expect(metrics).toMatchObject({ byokFeesPico: 50n, byokCalls: 1n })
  })

  test('the audit finds a fee booked as revenue and a BYOK call with a cost of ours', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const call = settlementOf(account)
    await store.settle([call])
    await ledger.postgres.callRecord.update({
      where: { id: call.id },
      data: { isByok: true, providerKeyId: 'pkey_1' },
    })
    const { checks } = await auditLedger(ledger.postgres)
    await ledger.postgres.callRecord.update({
      where: { id: call.id },
      data: { isByok: false, providerKeyId: null },
    })
    const broken = checks.filter((check) => check.broken > 0)
    expect(broken.map(({ discrepancies }) => discrepancies.map(({ subject }) => subject))).toEqual([
      [call.id],
      [call.id],
    ])
  })

  test('keeps the first record of a served call that stands twice in a batch', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const charged = settlementOf(account)
    const nothing = { promptTokens: 0, completionTokens: 0 }
    const free = settlementOf(account, { id: charged.id, usage: nothing, chargePico: '0' })
    await store.settle([free, charged])
    expect(await balanceOf(account)).toMatchObject({ balancePico: 1_000n })
    const { promptTokens } = await ledger.postgres.callRecord.findUniqueOrThrow({ where: { id: charged.id } })
    expect(promptTokens).toBe(0)
  })

  test('keeps everything a charge can be recomputed from', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const call = settlementOf(account)
    await store.settle([call])
    const record = await ledger.postgres.callRecord.findUniqueOrThrow({ where: { id: call.id } })
    expect(record).toMatchObject({
      accountId: account,
      servedOfferId: 'acme/large-1',
      promptRatePico: 1n,
      completionRatePico: 2n,
      promptTokens: 10,
      completionTokens: 20,
      holdPico: 100n,
      chargePico: 50n,
      attempts: call.attempts,
      firstTokenAtMs: 1_005n,
    })
    const entries = await ledger.postgres.ledgerEntry.findMany({ where: { transactionId: call.id } })
    expect(entries.map(({ ledgerAccount, amountPico }) => [ledgerAccount, amountPico]).sort()).toEqual([
      [`customer:${account}`, -50n],
      ['revenue', 50n],
    ])
  })

  test('a charge with rates of every kind is recomputed from its record, as is what it cost us', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const { id, served } = settlementOf(account)
    const now = callCreatedAt(id)!
    const call = settlementOf(account, {
      id,
      served: {
        ...served!,
        rate: {
          ...{ prompt: '10', completion: '2', promptAudio: '4', cacheRead: '3', cacheWrite: '12' },
          ...{ cacheWriteHour: '15', webSearch: '40', codeExecution: '25' },
        },
        cost: {
          ...{ prompt: '10', completion: '1', promptAudio: '3', cacheRead: '2' },
          ...{ webSearch: '30', codeExecution: '20' },
        },
      },
      usage: {
        ...{ promptTokens: 18, completionTokens: 20, audioTokens: 6, imageTokens: 1, cachedTokens: 4 },
        ...{ cacheWriteTokens: 4, cacheWriteHourTokens: 3, webSearches: 2, codeExecutions: 1 },
      },
      // 3 of text, 1 of images at the prompt rate, 6 of audio, 4, 1 and 3 of the cache, 20 of the completion, and uses.
      chargePico: String(30 + 10 + 6 * 4 + 4 * 3 + 12 + 3 * 15 + 20 * 2 + 2 * 40 + 25),
      holdPico: '300',
      admittedAt: now,
      claimedAt: now,
      firstTokenAt: now,
      finishedAt: now,
    })
    await store.settle([call])
    const record = await ledger.postgres.callRecord.findUniqueOrThrow({ where: { id: call.id } })
    expect(record).toMatchObject({
      audioTokens: 6,
      imageTokens: 1,
      promptAudioRatePico: 4n,
      promptImageRatePico: null,
      promptAudioCostPico: 3n,
      cachedTokens: 4,
      cacheWriteTokens: 4,
      cacheReadRatePico: 3n,
      cacheWriteRatePico: 12n,
      cacheReadCostPico: 2n,
      cacheWriteCostPico: null,
    })
    const brokenChecks = async () =>
      (await auditLedger(ledger.postgres)).checks
        .filter(({ discrepancies }) => discrepancies.some(({ subject }) => subject === call.id))
        .map(({ name }) => name)
    expect(await brokenChecks()).toEqual([])
    const costPico = BigInt(40 + 6 * 3 + 4 * 2 + 10 + 3 * 10 + 20 + 2 * 30 + 20)
    const range = { fromMs: now - 60_000, toMs: now + 60_000 }
    const margin = await createMarginStore(ledger.postgres).margin(range, 'model', {
      sort: 'revenue',
      after: 0,
      limit: 10,
    })
    expect(margin?.total).toMatchObject({ calls: 1n, costPico })
    const [total] = await ledger.postgres.$queryRaw<Array<{ cost: string }>>`
      SELECT cost_pico::text AS cost FROM usage_totals WHERE account_id = ${account} AND width_ms = 86400000`
    expect(total!.cost).toBe(String(costPico))
    const view = operatorCall(toListedCall(record))
    expect(view).toMatchObject({ audio_tokens: 6, cost_usd: formatUsd(picoUsd(costPico)) })
    for (const [wrong, right] of [
      [{ audioTokens: 5 }, { audioTokens: 6 }],
      [{ cachedTokens: 5 }, { cachedTokens: 4 }],
      [{ cacheWriteTokens: 3 }, { cacheWriteTokens: 4 }],
      [{ cacheWriteHourTokens: 0 }, { cacheWriteHourTokens: 3 }],
      [{ webSearches: 1 }, { webSearches: 2 }],
      [{ codeExecutions: 0 }, { codeExecutions: 1 }],
    ]) {
      await ledger.postgres.callRecord.update({ where: { id: call.id }, data: wrong! })
      expect(await brokenChecks()).toEqual([
        'a charge is tokens times rates, and a failed call or a duplicate costs nothing',
      ])
      await ledger.postgres.callRecord.update({ where: { id: call.id }, data: right! })
    }
  })

  test('a failed call is recorded, costs nothing and leaves the ledger alone', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const call = failedSettlementOf(account)
    const { accounts } = await store.settle([call])
    expect(accounts).toEqual([
      {
        accountId: account,
        balancePico: 1_000n,
        version: 1n,
        released: [{ callId: call.id, chargePico: 0n }],
      },
    ])
    expect(await ledger.postgres.ledgerTransaction.count({ where: { id: call.id } })).toBe(0)
    expect(await ledger.postgres.callRecord.count({ where: { id: call.id } })).toBe(1)
  })

  test('settlement sums charged and uncharged cost by account, once per call', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const attempt = (outcome: string, costPico: string) => ({
      ...{ offerId: 'alpha/m', outcome, httpStatus: null, startedAt: 0, firstTokenMs: null, durationMs: 1 },
      spent: { promptTokens: 1, completionTokens: 0, costPico },
    })
    const charged = settlementOf(account, { attempts: [attempt('silent', '7')] })
    const left = failedSettlementOf(account, {
      status: 'cancelled',
      errorCode: null,
      attempts: [attempt('cancelled', '30')],
    })
    await store.settle([charged, left])
    await store.settle([left, charged])
    const costs = await ledger.postgres.accountProviderCost.findMany({ where: { accountId: account } })
    expect(costs).toMatchObject([{ chargedPico: 50n, unchargedPico: 37n, causedPico: 30n }])
  })

  test('settling again changes nothing and reports the current balance', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const [first, second] = [settlementOf(account), settlementOf(account)]
    await store.settle([first])
    await store.settle([second])
    const { accounts } = await store.settle([first, first])
    expect(accounts).toEqual([
      {
        accountId: account,
        balancePico: 900n,
        version: 3n,
        released: [{ callId: first.id, chargePico: 50n }],
      },
    ])
  })

  test('the first settlement of a call wins, and its charge is what is reported', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const call = settlementOf(account)
    await store.settle([call])
    const { accounts } = await store.settle([failedSettlementOf(account, { id: call.id })])
    expect(accounts[0]?.released).toEqual([{ callId: call.id, chargePico: 50n }])
    expect(await balanceOf(account)).toEqual({ balancePico: 950n, version: 2n })
  })

  test.each([
    ['a charge above its hold', { chargePico: '101' }, 'charge_within_hold'],
    ['a negative charge', { chargePico: '-1' }, 'charge_within_hold'],
    ['an unknown account', { accountId: 'acct_nobody' }, 'account_id'],
    ['a charge for nothing served', { served: null }, 'charge_needs_service'],
    ['a charge that is no number', { chargePico: 'many' }, 'malformed'],
    ['a status nobody knows', { status: 'lucky' as never }, 'call_status'],
    ['a record without usage', { usage: undefined as never }, 'malformed'],
    ['text PostgreSQL cannot keep', { requestedModel: 'a\u0000b' }, 'Unicode'],
  ])('%s is quarantined and its neighbours are settled', async (_name, broken, reason) => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const bad = settlementOf(account, broken)
    const good = [settlementOf(account), settlementOf(account), settlementOf(account)]
    const { accounts, quarantined } = await store.settle([...good.slice(0, 2), bad, ...good.slice(2)])
    expect(quarantined).toEqual([
      { callId: bad.id, accountId: bad.accountId, reason: expect.stringContaining(reason) },
    ])
    expect(accounts.flatMap(({ released }) => released.map((hold) => hold.callId)).sort()).toEqual(
      good.map((call) => call.id).sort(),
    )
    expect((await balanceOf(account)).balancePico).toBe(850n)
    expect(await ledger.postgres.quarantinedSettlement.count({ where: { id: bad.id } })).toBe(1)
    expect(await ledger.postgres.callRecord.count({ where: { id: bad.id } })).toBe(0)
  })

  test('no balance goes below zero: what does not fit is quarantined, the rest is charged', async () => {
    const account = await openTestAccount(ledger.postgres, 120n)
    const calls = Array.from({ length: 4 }, () => settlementOf(account))
    const { quarantined } = await store.settle(calls)
    expect(quarantined).toHaveLength(2)
    expect(await balanceOf(account)).toMatchObject({ balancePico: 20n })
  })

  test('an account that is spent to the last is exhausted', async () => {
    const account = await openTestAccount(ledger.postgres, 50n)
    await store.settle([settlementOf(account)])
    const { state } = await ledger.postgres.account.findUniqueOrThrow({ where: { id: account } })
    expect(state).toBe('exhausted')
  })

  test.each([
    ['less than the cheapest call costs', 26n, 'exhausted'],
    ['just what the cheapest call costs', 25n, 'active'],
  ])('an account left with %s has its own state', async (_, leastCallPico, state) => {
    const account = await openTestAccount(ledger.postgres, 75n)
    await store.settle([settlementOf(account, { leastCallPico: String(leastCallPico) })])
    expect(await ledger.postgres.account.findUnique({ where: { id: account } })).toMatchObject({ state })
  })

  test('spending everything does not end a suspension', async () => {
    const account = await openTestAccount(ledger.postgres, 50n)
    await ledger.postgres.account.update({ where: { id: account }, data: { state: 'suspended' } })
    await store.settle([settlementOf(account)])
    expect(await ledger.postgres.account.findUnique({ where: { id: account } })).toMatchObject({
      state: 'suspended',
      balancePico: 0n,
    })
  })

  test('writers on the same accounts neither deadlock nor lose a charge', async () => {
    const ids = await Promise.all(Array.from({ length: 6 }, () => openTestAccount(ledger.postgres, 100_000n)))
    const batches = Array.from({ length: 12 }, (_, batch) =>
      ids.map((_, index) => settlementOf(ids[(index * 5 + batch) % ids.length] as string)),
    )
    // Every batch is settled by two writers at once.
    await Promise.all([...batches, ...batches].map((batch) => store.settle(batch)))
    for (const id of ids) expect((await balanceOf(id)).balancePico).toBe(100_000n - 12n * 50n)
  })

  test('a batch of nothing is nothing', async () => {
    expect(await store.settle([])).toEqual({ accounts: [], quarantined: [], superseded: [], credited: [] })
  })
})

describe('PostgreSQL that loses its last commits', () => {
  const ledger = testLedger()

  /** Takes away calls, as a fail-over to a standby does that had not received them. */
  const lose = (ids: string[]) =>
    ledger.postgres.$transaction([
      ledger.postgres.$executeRawUnsafe('SET LOCAL session_replication_role = replica'),
      ledger.postgres.$executeRawUnsafe('DELETE FROM ledger_entries WHERE transaction_id = ANY ($1)', ids),
      ledger.postgres.$executeRawUnsafe('DELETE FROM ledger_transactions WHERE id = ANY ($1)', ids),
      ledger.postgres.$executeRawUnsafe('DELETE FROM call_records WHERE id = ANY ($1)', ids),
    ])

  /** A store, what it said was lost, and an account. */
  const setUp = async (onLoss: () => Promise<void> = async () => undefined) => {
    const losses: string[] = []
    const store = createSettlementStore(ledger.postgres, undefined, async (callId) => {
      losses.push(callId)
      await onLoss()
    })
    return { store, losses, account: await openTestAccount(ledger.postgres, 1_000n) }
  }

  test('is noticed by the next settlement, once, whichever call it is of', async () => {
    const { store, losses, account } = await setUp()
    const lost = settlementOf(account)
    await store.settle([lost])
    await lose([lost.id])
    await store.settle([settlementOf(account)])
    expect(losses).toEqual([lost.id])
    await store.settle([settlementOf(account)])
    expect(losses).toHaveLength(1)
  })

  test('is noticed where settlements were repeated since', async () => {
    const { store, losses, account } = await setUp()
    const [kept, lost] = [settlementOf(account), settlementOf(account)]
    await store.settle([kept])
    await store.settle([lost])
    await store.settle([kept])
    await lose([lost.id])
    await store.settle([settlementOf(account)])
    expect(losses).toEqual([lost.id])
  })

  test('the loss of commits is reported once, also if nothing new is settled afterwards', async () => {
    const { store, losses, account } = await setUp()
    const [kept, lost] = [settlementOf(account), settlementOf(account)]
    await store.settle([kept])
    await store.settle([lost])
    await lose([lost.id])
    await store.settle([kept])
    await store.settle([kept])
    expect(losses).toEqual([lost.id])
  })

  test('the loss of commits is reported by the repeated settlement if the first report failed', async () => {
    let isAway = true
    const { store, losses, account } = await setUp(async () => {
      if (isAway) throw new Error('redis is away')
    })
    const [lost, next] = [settlementOf(account), settlementOf(account)]
    await store.settle([lost])
    await lose([lost.id])
    await expect(store.settle([next])).rejects.toThrow('redis is away')
    isAway = false
    await store.settle([next])
    expect(losses).toEqual([lost.id, lost.id])
  })
})
