import { beforeAll, describe, expect, test } from 'vitest'
import { auditLedger } from '../../src/billing/audit/ledger-audit.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { createConflictStore } from '../../src/billing/settlement/conflict-store.ts'
import { createSettlementStore, type SettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { adjustmentPosting } from '../../src/core/billing/postings.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import type { CallId } from '../../src/core/kernel/ids.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import { createPostgres } from '../../src/platform/postgres/postgres.ts'
import {
  failedSettlementOf,
  lostSettlementOf,
  openTestAccount,
  settlementOf,
  unservedSettlementOf,
} from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const NOTHING = { promptTokens: 0, completionTokens: 0 }

describe('two settlements of one call', () => {
  let store: SettlementStore
  const ledger = testLedger()
  beforeAll(() => {
    store = createSettlementStore(ledger.postgres)
  })

  const accountOf = async (id: string) => {
    const { balancePico, version } = await ledger.postgres.account.findUniqueOrThrow({ where: { id } })
    return { balancePico, version }
  }
  const conflictsOf = (callId: string) =>
    ledger.postgres.settlementConflict.findMany({ where: { callId }, orderBy: { id: 'asc' } })
  const statusOf = async (id: string) =>
    (await ledger.postgres.callRecord.findUniqueOrThrow({ where: { id } })).status

  /** The names of the audit's checks that name a call. */
  const findingsOn = async (callId: string) => {
    const { checks } = await auditLedger(ledger.postgres)
    const kept = await ledger.postgres.$queryRaw<Array<{ name: string }>>`
      SELECT check_name AS name FROM audit_findings WHERE id = ${callId} AND NOT is_waiting`
    const found = new Set(kept.map(({ name }) => name))
    return checks
      .filter(
        ({ name, discrepancies }) =>
          found.has(name) || discrepancies.some(({ subject }) => subject === callId),
      )
      .map(({ name }) => name)
  }

  test('a served record that comes second charges, and replaces the record that no worker made', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    const unserved = lostSettlementOf(account, { id: served.id })
    await store.settle([unserved])
    expect(await accountOf(account)).toEqual({ balancePico: 1_000n, version: 1n })
    const { accounts, superseded } = await store.settle([served])
    expect(accounts).toEqual([
      {
        accountId: account,
        balancePico: 950n,
        version: 2n,
        released: [{ callId: served.id, chargePico: 50n }],
      },
    ])
    expect(superseded).toEqual([
      {
        callId: served.id,
        accountId: account,
        keyId: served.keyId,
        memberId: null,
        groups: [],
        admittedAt: served.admittedAt,
      },
    ])
    expect(await ledger.postgres.callRecord.findUnique({ where: { id: served.id } })).toMatchObject({
      status: 'completed',
      errorCode: null,
      chargePico: 50n,
      servedOfferId: 'acme/large-1',
      attempts: served.attempts,
    })
    expect(await ledger.postgres.ledgerEntry.count({ where: { transactionId: served.id } })).toBe(2)
    expect(await conflictsOf(served.id)).toMatchObject([
      { outcome: 'superseded', unserved: true, errorCode: 'internal_error', chargePico: 0n },
    ])
  })

  test('a served record that comes first stays, and the other is kept as evidence', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    await store.settle([served])
    const { accounts, superseded } = await store.settle([lostSettlementOf(account, { id: served.id })])
    expect(accounts[0]).toMatchObject({ balancePico: 950n, released: [{ chargePico: 50n }] })
    expect(superseded).toEqual([])
    expect(await statusOf(served.id)).toBe('completed')
    expect(await conflictsOf(served.id)).toMatchObject([{ outcome: 'dropped', unserved: true }])
  })

  test.each(['unserved first', 'served first'])(
    'within a batch the served record counts, %s',
    async (order) => {
      const account = await openTestAccount(ledger.postgres, 1_000n)
      const served = settlementOf(account)
      const both = [lostSettlementOf(account, { id: served.id }), served]
      const { accounts } = await store.settle(order === 'served first' ? both.reverse() : both)
      expect(accounts).toEqual([
        {
          accountId: account,
          balancePico: 950n,
          version: 2n,
          released: [{ callId: served.id, chargePico: 50n }],
        },
      ])
      expect(await statusOf(served.id)).toBe('completed')
      expect(await conflictsOf(served.id)).toMatchObject([{ outcome: 'dropped', unserved: true }])
    },
  )

  test('of two records of a served call the first counts, also when it charged nothing', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const free = settlementOf(account, { usage: NOTHING, chargePico: '0' })
    await store.settle([free])
    await store.settle([settlementOf(account, { id: free.id })])
    expect(await accountOf(account)).toEqual({ balancePico: 1_000n, version: 1n })
    expect(await conflictsOf(free.id)).toMatchObject([
      { outcome: 'dropped', unserved: false, chargePico: 50n },
    ])
  })

  test('a worker that found no provider gives way to its successor that did', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const failed = failedSettlementOf(account)
    await store.settle([failed])
    await store.settle([settlementOf(account, { id: failed.id })])
    expect(await statusOf(failed.id)).toBe('completed')
    expect(await accountOf(account)).toEqual({ balancePico: 950n, version: 2n })
    expect(await conflictsOf(failed.id)).toMatchObject([{ outcome: 'superseded', chargePico: 0n }])
  })

  test('records that are settled again, in any order, charge once and leave one conflict each', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    const unserved = lostSettlementOf(account, { id: served.id })
    for (const batch of [[unserved], [unserved, served], [served], [unserved], [served, unserved, served]])
      await store.settle(batch)
    expect(await accountOf(account)).toEqual({ balancePico: 950n, version: 2n })
    expect(await conflictsOf(served.id)).toHaveLength(1)
  })

  test('the same record again is no conflict, nor are two records that no worker made', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const [served, lost] = [settlementOf(account), lostSettlementOf(account)]
    await store.settle([served, lost])
    await store.settle([
      { ...served, finishedAt: served.finishedAt + 5, attempts: [] },
      { ...lost, status: 'cancelled', errorCode: null },
    ])
    expect([...(await conflictsOf(served.id)), ...(await conflictsOf(lost.id))]).toEqual([])
  })

  test('two settlement workers at once: the served record counts in every interleaving', async () => {
    const other = createPostgres({ databaseUrl: ledger.url, name: 'test-other', poolSize: 2 })
    const stores = [store, createSettlementStore(other)] as const
    const account = await openTestAccount(ledger.postgres, 100_000n)
    const calls = 300
    for (let index = 0; index < calls; index++) {
      const served = settlementOf(account)
      const unserved = lostSettlementOf(account, { id: served.id, status: 'cancelled', errorCode: null })
      const [first, second] = index % 2 === 0 ? [served, unserved] : [unserved, served]
      await Promise.all([stores[0].settle([first]), stores[1].settle([second])])
    }
    expect(await accountOf(account)).toEqual({
      balancePico: 100_000n - 50n * BigInt(calls),
      version: 1n + BigInt(calls),
    })
    expect(
      await ledger.postgres.callRecord.count({ where: { accountId: account, status: 'completed' } }),
    ).toBe(calls)
    await other.$disconnect()
  })

  test('a writer that waits for another decides by what that one committed', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    const unserved = lostSettlementOf(account, { id: served.id })
    const settling: Array<Promise<unknown>> = []
    await ledger.postgres.$transaction(async (transaction) => {
      await transaction.$queryRawUnsafe('SELECT id FROM accounts WHERE id = $1 FOR UPDATE', account)
      // Both take their snapshot now and wait for the account; neither can see the other's record.
      settling.push(store.settle([unserved]), store.settle([served]))
      await expect
        .poll(async () => {
          const rows = await ledger.postgres.$queryRawUnsafe<Array<{ waiting: bigint }>>(
            `SELECT count(*) AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
          )
          return Number(rows[0]?.waiting)
        })
        .toBe(2)
    })
    await Promise.all(settling)
    expect(await statusOf(served.id)).toBe('completed')
    expect(await accountOf(account)).toEqual({ balancePico: 950n, version: 2n })
    expect(await conflictsOf(served.id)).toHaveLength(1)
  })

  test('a served record that is refused stays in quarantine, whatever was settled before it', async () => {
    const account = await openTestAccount(ledger.postgres, 20n)
    const served = settlementOf(account)
    await store.settle([lostSettlementOf(account, { id: served.id })])
    const { quarantined } = await store.settle([served])
    expect(quarantined).toMatchObject([{ callId: served.id }])
    expect(await findingsOn(served.id)).toContain('no settlement is in quarantine')
  })

  const REPORTED_A_FAILURE = 'no charged call returned an error to its client'
  const GIVEN_AWAY = 'no call is given away that a provider served'
  const CONTRADICTED = 'no call has records that contradict each other'

  test.each([
    ['told, then served', (told: SettlementRecord, served: SettlementRecord) => [[told], [served]]],
    ['served, then told', (told: SettlementRecord, served: SettlementRecord) => [[served], [told]]],
    ['both in one batch', (told: SettlementRecord, served: SettlementRecord) => [[told, served]]],
    [
      'settled again',
      (told: SettlementRecord, served: SettlementRecord) => [[served], [told], [served, told], [told]],
    ],
  ])('a charge is credited once if its caller received an error: %s', async (_name, batchesOf) => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    const { id } = served
    for (const batch of batchesOf(unservedSettlementOf(account, { id }), served)) {
      const { accounts } = await store.settle(batch)
      expect(accounts).toMatchObject([await accountOf(account)])
    }
    expect(await accountOf(account)).toEqual({ balancePico: 1_000n, version: 3n })
    expect(await ledger.postgres.callRecord.findUnique({ where: { id } })).toMatchObject({
      chargePico: 50n,
    })
    expect(await ledger.postgres.ledgerNote.findMany({ where: { id } })).toMatchObject([
      { kind: 'adjustment', reason: 'The call was charged, and its caller was told that it failed.' },
    ])
    expect(await findingsOn(id)).toEqual([])
  })

  test.each([
    ['less than is charged', 5, 30n],
    ['all that is charged', 20, 0n],
    ['more than is charged', 21, 0n],
  ])('what was delivered before a reported failure stays charged: %s', async (_name, delivered, credit) => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    const { id } = served
    const usage = { promptTokens: 0, completionTokens: delivered }
    await store.settle([served])
    await store.settle([unservedSettlementOf(account, { id, usage })])
    expect((await accountOf(account)).balancePico).toBe(950n + credit)
    expect(await findingsOn(id)).toEqual([])
  })

  test('a retry of a credited call with its Idempotency-Key is charged, not its duplicate', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const key = { idempotencyDigest: 'digest-of-a-retry' }
    const served = settlementOf(account, key)
    await store.settle([served])
    const discarded: object[] = []
    const crediting = createSettlementStore(ledger.postgres, async (call) => void discarded.push(call))
    await crediting.settle([unservedSettlementOf(account, { id: served.id })])
    expect(discarded).toEqual([
      { id: served.id, accountId: account, idempotencyRecord: key.idempotencyDigest },
    ])
    const retry = settlementOf(account, key)
    await store.settle([retry])
    expect(await accountOf(account)).toEqual({ balancePico: 950n, version: 4n })
    expect(await ledger.postgres.callRecord.findUnique({ where: { id: retry.id } })).toMatchObject({
      chargePico: 50n,
      duplicateOf: null,
    })
  })

  test('what an operator has credited by the id of the call is not credited again', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    await store.settle([served])
    await postLedger(ledger.postgres, adjustmentPosting(served.id, account, picoUsd(50n)))
    await store.settle([unservedSettlementOf(account, { id: served.id })])
    expect(await accountOf(account)).toEqual({ balancePico: 1_000n, version: 3n })
  })

  test('a call that was cancelled before it was claimed and served all the same stays charged', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    const left = unservedSettlementOf(account, { id: served.id, status: 'cancelled', errorCode: null })
    await store.settle([left])
    await store.settle([served])
    expect(await accountOf(account)).toEqual({ balancePico: 950n, version: 2n })
  })

  test.each([
    ['lost, then served', (id: CallId) => [lostSettlementOf('', { id }), settlementOf('', { id })]],
    ['served, then lost', (id: CallId) => [settlementOf('', { id }), lostSettlementOf('', { id })]],
    [
      'settled whole, then ended with an error by the worker that took over',
      (id: CallId) => [
        settlementOf('', { id }),
        settlementOf('', {
          id,
          status: 'interrupted',
          errorCode: 'all_providers_failed',
          usage: { promptTokens: 10, completionTokens: 5 },
          chargePico: '20',
        }),
      ],
    ],
  ])('the audit names a charged call whose caller received an error: %s', async (_name, records) => {
    const accountId = await openTestAccount(ledger.postgres, 1_000n)
    const { id } = settlementOf(accountId)
    for (const record of records(id)) await store.settle([{ ...record, accountId }])
    expect(await findingsOn(id)).toEqual([REPORTED_A_FAILURE, CONTRADICTED])
  })

  test.each([
    ['one after the other', (...records: SettlementRecord[]) => records.map((record) => [record])],
    ['in one batch', (...records: SettlementRecord[]) => [records]],
    [
      'first, and replaced',
      (...records: SettlementRecord[]) => records.toReversed().map((record) => [record]),
    ],
  ])(
    'a run without an answer from the API instance contradicts no charge, and nothing is credited: %s',
    async (_name, batchesOf) => {
      const account = await openTestAccount(ledger.postgres, 1_000n)
      const served = settlementOf(account)
      const { id } = served
      const failed = failedSettlementOf(account, {
        ...{ id, errorCode: 'internal_error', attempts: [], isUnanswered: true },
      })
      const left = { ...failed, status: 'cancelled', errorCode: null } as const
      for (const batch of batchesOf(served, failed, left)) await store.settle(batch)
      expect(await accountOf(account)).toEqual({ balancePico: 950n, version: 2n })
      expect(await conflictsOf(id)).toEqual([])
      expect(await findingsOn(id)).toEqual([])
    },
  )

  test('the audit names a call that a worker served without a charge', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const free = settlementOf(account, { usage: NOTHING, chargePico: '0' })
    await store.settle([free])
    await store.settle([settlementOf(account, { id: free.id })])
    expect(await findingsOn(free.id)).toEqual([GIVEN_AWAY, CONTRADICTED])
  })

  test('the audit names no call that rightly costs nothing', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    const calls = [
      failedSettlementOf(account),
      lostSettlementOf(account),
      // A provider answered, and the gateway lost the answer.
      failedSettlementOf(account, { errorCode: 'internal_error', attempts: served.attempts }),
      // The client left before anything was produced.
      failedSettlementOf(account, { status: 'cancelled', errorCode: null }),
      settlementOf(account, { usage: NOTHING, chargePico: '0' }),
      settlementOf(account, {
        served: {
          ...served.served!,
          rate: { prompt: '0', completion: '0' },
          cost: { prompt: '0', completion: '0' },
          providerKeyId: 'pkey_1',
        },
        chargePico: '0',
      }),
    ]
    await store.settle(calls)
    for (const { id } of calls) expect(await findingsOn(id)).toEqual([])
  })

  test('a call that a person has decided about is named no more', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    await store.settle([lostSettlementOf(account, { id: served.id })])
    await store.settle([served])
    const conflicts = createConflictStore(ledger.postgres)
    const named = async () => (await conflicts.open()).filter(({ callId }) => callId === served.id)
    expect(await named()).toMatchObject([{ chargePico: 50n, aside: [{ errorCode: 'internal_error' }] }])
    expect(await conflicts.review(served.id, 'credited by adjustment refund-1')).toBe(true)
    expect(await conflicts.review(served.id, 'again')).toBe(false)
    expect(await findingsOn(served.id)).toEqual([])
    expect(await named()).toEqual([])
  })

  test('what is set aside has no labels: they go with the account, and this stays', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const labels = { title: 'Night mail' }
    for (const isServedFirst of [true, false]) {
      const served = { ...settlementOf(account), labels }
      const both = [served, { ...lostSettlementOf(account, { id: served.id }), labels }]
      for (const record of isServedFirst ? both : both.toReversed()) await store.settle([record])
      expect(await ledger.postgres.callRecord.findUnique({ where: { id: served.id } })).toMatchObject({
        labels,
      })
      const [aside] = await conflictsOf(served.id)
      expect(aside?.record).toMatchObject({ id: served.id })
      expect(aside?.record).not.toHaveProperty('labels')
    }
  })

  test('what was set aside can be neither changed nor removed', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const served = settlementOf(account)
    await store.settle([lostSettlementOf(account, { id: served.id })])
    await store.settle([served])
    for (const change of [
      'DELETE FROM settlement_conflicts',
      'UPDATE settlement_conflicts SET charge_pico = 0',
    ])
      await expect(ledger.postgres.$executeRawUnsafe(change)).rejects.toThrow(/append-only/)
  })
})
