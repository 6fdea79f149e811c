import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import { ulid } from 'ulid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccountStore } from '../../src/accounts/account-store.ts'
import { createInvitationStore } from '../../src/accounts/organisation/invitation-store.ts'
import { createAccountDeletion } from '../../src/accounts/self-service/account-deletion.ts'
import { eraseDeletedAccounts } from '../../src/accounts/self-service/account-erasure.ts'
import { CALLS_SEARCHED_MAX, type ListedCalls } from '../../src/billing/call-records/call-list.ts'
import {
  type CallRecords,
  createCallRecords,
  readClaimWait,
} from '../../src/billing/call-records/call-records.ts'
import { findCharges, findKnownCalls } from '../../src/billing/call-records/known-calls.ts'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { createAccountLedgerStore } from '../../src/billing/ledger/account-ledger-store.ts'
import { adjustBalance } from '../../src/billing/ledger/adjust-balance.ts'
import { createBalanceStore } from '../../src/billing/ledger/balance-store.ts'
import { createCreditStore } from '../../src/billing/ledger/credit-store.ts'
import {
  createLedgerListStore,
  readLedgerCursor,
  sumLedger,
} from '../../src/billing/ledger/ledger-list-store.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { createStatementReader } from '../../src/billing/ledger/statement-store.ts'
import { readAutoChoices } from '../../src/billing/reports/auto-choices.ts'
import { readCompletionTokens } from '../../src/billing/reports/completion-tokens.ts'
import { createMarginStore } from '../../src/billing/reports/margin-store.ts'
import { createModelStatsStore } from '../../src/billing/reports/model-stats-store.ts'
import { recordedProviderUsage } from '../../src/billing/reports/provider-bill-store.ts'
import { createProviderHours } from '../../src/billing/reports/provider-hours.ts'
import { createKeyActivityStore, createSpendStore } from '../../src/billing/reports/spend-store.ts'
import { createUsageSeriesStore } from '../../src/billing/reports/usage-series-store.ts'
import { createUsageStore } from '../../src/billing/reports/usage-store.ts'
import { createWeeklySpendStore } from '../../src/billing/reports/weekly-spend-store.ts'
import { createConflictStore } from '../../src/billing/settlement/conflict-store.ts'
import { creditReportedFailures } from '../../src/billing/settlement/credit-reported-failures.ts'
import { createQuarantineStore } from '../../src/billing/settlement/quarantine-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import {
  createStoredResponseStore,
  STORED_RESPONSE_PURPOSE,
} from '../../src/calls/stored-responses/stored-response-store.ts'
import { CALL_SORTS } from '../../src/core/api/calls.ts'
import { allowancePeriod } from '../../src/core/billing/allowance-period.ts'
import { accountBudget, keyBudget, memberBudget } from '../../src/core/billing/budget.ts'
import type { CallPosition } from '../../src/core/billing/call-cursor.ts'
import { CALL_PAYMENT_ACCOUNT } from '../../src/core/billing/postings.ts'
import { bucketStarts } from '../../src/core/billing/time-buckets.ts'
import { newCallId, newRequestId } from '../../src/core/kernel/ids.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import { DAY_MS, HOUR_MS, isoDay } from '../../src/core/kernel/time.ts'
import { createCallPaymentStore } from '../../src/payments/x402/call-payment-store.ts'
import { createSealer } from '../../src/platform/sealing.ts'
import {
  failedSettlementOf,
  openTestAccount,
  settlementOf,
  unservedSettlementOf,
} from '../helpers/billing.ts'
import { fillHistory } from '../helpers/long-history.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

/** A statement may read this many calls or entries, however many there are. */
const ROWS_MAX = 25_000
/** Statistics of models and providers read the latest hundred thousand calls; a page of a sorted or searched list half of them. */
const STATISTICS_ROWS_MAX = 100_000
const CALLS = 1_000_000
/** A million rows with their indexes: seconds of processor time, minutes on a machine that others use. */
const FILL_MAX_MS = 600_000
const ORDERS = CALL_SORTS.flatMap((by) => [false, true].map((isAscending) => ({ by, isAscending })))
const HISTORY_TABLE = /\b(call_records|ledger_transactions|ledger_entries|usage_totals)\b/

/** Prisma's own queries of these tables. All but `findByRequestId`, of the command `trace`, are by primary key. */
const PRISMA_QUERIES = [
  'src/accounts/account-store.ts ledgerEntry.findFirst',
  'src/billing/call-records/call-records.ts callRecord.findMany',
  'src/billing/call-records/call-records.ts callRecord.findMany',
  'src/billing/call-records/call-records.ts callRecord.findUnique',
  'src/billing/ledger/adjust-balance.ts ledgerEntry.findMany',
  'src/billing/settlement/conflict-store.ts callRecord.findUniqueOrThrow',
  'src/calls/api/end-acknowledgements.ts callRecord.findMany',
]
/** The audit, the archive and the copy for analytics go through rows in their order, a bounded range at a time. */
const RANGE_READERS = /^src\/billing\/(audit|archive|analytics)\//

interface Statement {
  text: string
  values: unknown[]
  /** It is planned for its values each time. */
  isCustom: boolean
  /** And by indexes. */
  isByIndex: boolean
}

const recorded = new Map<string, Statement>()
/** Connections in a transaction of custom plans. */
const custom = new Set<pg.Client>()
const byIndex = new Set<pg.Client>()
const query = pg.Client.prototype.query
/** Records statements where all of them pass: in the driver. Before the first connection, which keeps the function it finds. */
pg.Client.prototype.query = function (this: pg.Client, ...args: never[]) {
  const [config, values] = args as unknown as [string | Statement, unknown]
  const text = typeof config === 'string' ? config : config.text
  const given = (typeof config === 'object' && config.values) || (Array.isArray(values) ? values : [])
  if (/^SET LOCAL plan_cache_mode/.test(text)) custom.add(this)
  if (/^SET LOCAL enable_seqscan/.test(text)) byIndex.add(this)
  if (/^(COMMIT|ROLLBACK)/.test(text)) for (const kind of [custom, byIndex]) kind.delete(this)
  const plans = { isCustom: custom.has(this), isByIndex: byIndex.has(this) }
  if (HISTORY_TABLE.test(text)) recorded.set(text, { text, values: [...given], ...plans })
  return (query as (...all: never[]) => never).apply(this, args)
} as typeof query

const ledger = testLedger()
const server = testRedis()
const now = Date.now()
const [fromMs, toMs] = [now - 60 * DAY_MS, now - 1_000]
let busy: string
let other: string

beforeAll(async () => {
  busy = await openTestAccount(ledger.postgres, 10n ** 12n)
  other = await openTestAccount(ledger.postgres, 10n ** 12n)
  const others = [other, ...Array.from({ length: 500 }, (_, at) => `acct_other_${at}`)]
  await fillHistory(ledger.url, {
    ...{ calls: CALLS, busyAccountId: busy, otherAccountIds: others, keys: 4, fromMs, toMs },
  })
  const data = { kind: 'standard', prefix: 'sk', suffix: 'x', accountId: busy, createdBy: other } as const
  for (let key = 0; key < 4; key++)
    await ledger.postgres.apiKey.create({ data: { ...data, id: `${busy}_${key}`, hash: Buffer.from([key]) } })
  recorded.clear()
}, FILL_MAX_MS)
afterAll(() => {
  pg.Client.prototype.query = query
})

/** Runs everything in src and workers that reads or writes these tables, except by ranges. */
async function runEverything(): Promise<void> {
  const { postgres } = ledger
  const redis = server.connect()
  const holds = createHoldStore(redis)
  const month = allowancePeriod('monthly', now)
  const range = { fromMs: now - 30 * DAY_MS, toMs: now }
  const year = { fromMs: now - 365 * DAY_MS, toMs: now + 1 }

  const records = createCallRecords(postgres)
  const all = { accountId: null, range, limit: 50 }
  const listed = await records.list({ ...all, accountId: busy })
  expect(listed.calls).toHaveLength(50)
  const ids = listed.calls.map(({ id }) => id)
  await records.find(ids[0]!)
  const text = (more: object) => ({ text: { text: 'large-2', keyIds: [], ...more } })
  for (const [accountId, keyId] of [
    [busy, null],
    [busy, `${busy}_1`],
    [null, null],
  ])
    for (const order of ORDERS) {
      const query = { ...all, accountId: accountId ?? null, order, filter: { keyId: keyId ?? null } }
      const { next } = await records.list(query)
      await records.list({ ...query, position: { ...next!, isEnd: true } })
      await records.list({
        ...query,
        position: next,
        filter: { ...query.filter, status: 'failed', ...text({}) },
      })
    }
  await records.list({ ...all, accountId: busy, filter: { memberId: other, model: 'acme/large-2' } })
  await records.list({ ...all, accountId: busy, filter: { text: { text: ids[3]!, keyIds: [] } } })
  await records.list({
    ...{ ...all, atMs: now - 9 * DAY_MS },
    filter: {
      ...{
        accountIds: [busy, other],
        keyIds: [`${busy}_1`],
        anyModel: 'acme/large-1',
        requestId: 'request-7',
      },
      ...{ offerId: 'acme/large-1', minDurationMs: 3, ...text({ ofOperator: { accountIds: [busy] } }) },
    },
  })
  await records.recentSessions(busy, range.fromMs)
  await records.ofSession(busy, 'some-session')
  await records.settledSince([busy, other], now - HOUR_MS)
  await readClaimWait(postgres, now)
  await findKnownCalls(postgres, ids)
  await findCharges(postgres, ids)

  const spend = createSpendStore(postgres)
  for (const holder of [accountBudget(busy), memberBudget(busy, other), keyBudget(busy, `${busy}_1`)])
    for (const period of [month, allowancePeriod('weekly', now)])
      expect((await spend.spending(holder, period, ids)).spentPico).toBeGreaterThan(0n)
  await spend.spending(keyBudget(busy, `${busy}_1`), allowancePeriod('none', now), ids)
  await createKeyActivityStore(postgres).activity([{ keyId: `${busy}_1`, period: month }])

  const { usage } = createUsageStore(postgres)
  for (const group of ['day', 'model', 'key'] as const) await usage(busy, year, group, 1_000)
  // It has more calls than are read for these groups.
  expect(await usage(busy, year, 'project', 1_000)).toBe(null)
  const week = allowancePeriod('weekly', now - 7 * DAY_MS)
  const weekly = createWeeklySpendStore(postgres)
  const { id: personId } = await postgres.account.update({
    where: { id: busy },
    data: { weeklyMail: true, emailVerifiedAt: new Date() },
  })
  expect(await weekly.people('', 1_000)).toEqual([personId])
  const ended = { startsAt: week.startsAt, endsAt: week.endsAt! }
  expect(await weekly.recipients([personId], ended)).toEqual([{ accountId: busy, personId }])
  expect((await weekly.spend(busy, ended)).keys).toHaveLength(3)
  const { series } = createUsageSeriesStore(postgres)
  for (const group of ['model', 'key', 'member'] as const)
    for (const [interval, zone] of [
      ['hour', 'Asia/Kathmandu'],
      ['day', 'UTC'],
    ] as const) {
      const starts = bucketStarts(range, interval, zone, 800)!
      const query = { accountId: busy, range, beforeMs: now - 60 * DAY_MS, starts, group, top: null }
      expect(await series(query, 100_000)).not.toBeNull()
      await series({ ...query, model: 'acme/large-1', keyId: `${busy}_1` }, 100_000)
    }
  const first = { sort: 'revenue', after: 0, limit: 1_000 } as const
  for (const group of ['account', 'model', 'provider', 'day'] as const)
    expect((await createMarginStore(postgres).margin(year, group, first)).total.calls).toBeGreaterThan(
      BigInt(CALLS - 100),
    )
  await createMarginStore(postgres).days(year, 7)
  expect(
    await recordedProviderUsage(postgres, ['acme'], [isoDay(Math.floor(now / DAY_MS) - 1)]),
  ).toHaveLength(1)
  const statistics = createModelStatsStore({ postgres, clock: Date.now, logger: pino({ level: 'silent' }) })
  await expect.poll(() => statistics.stats()).not.toBeNull()
  await readAutoChoices(postgres)
  await readCompletionTokens(postgres, now)
  const hours = createProviderHours(postgres)
  await hours.nextHour(now)
  await hours.roll(Math.floor(now / HOUR_MS) * HOUR_MS - HOUR_MS)
  await hours.latency(now - DAY_MS, now, 10)

  const lists = createLedgerListStore(postgres)
  const top = readLedgerCursor(undefined)
  const page = await lists.page(busy, top, 20)
  expect(page).toHaveLength(20)
  await lists.filteredPage(busy, { ...top, call: { at: listed.calls[49]!.admittedAt, id: ids[49]! } }, 20, {
    kind: null,
    byCall: true,
  })
  await lists.freeCredit(busy)
  expect(await sumLedger(postgres)).not.toEqual([])
  await createAccountLedgerStore(postgres).totals(busy)
  await createAccountLedgerStore(postgres).page(busy, { position: top, balancePico: null }, 20, {
    kind: null,
    byCall: false,
  })
  await createStatementReader(postgres)(busy, year, 10_000)
  await createCreditStore(postgres, holds).find(busy)
  await createBalanceStore(postgres).postedWithin(HOUR_MS)

  const settlements = createSettlementStore(postgres)
  const batch = Array.from({ length: 100 }, () => settlementOf(busy, { admittedAt: now }))
  const taken = unservedSettlementOf(busy, { admittedAt: now })
  await settlements.settle([...batch, taken, failedSettlementOf(other, { admittedAt: now })])
  await settlements.settle([...batch, settlementOf(busy, { id: taken.id, admittedAt: now })])
  await settlements.settle([unservedSettlementOf(busy, { id: batch[0]!.id, admittedAt: now })])
  await settlements.settle([settlementOf('acct_unknown')])
  await creditReportedFailures(postgres, [batch[0]!.id], async () => undefined)
  const conflicts = createConflictStore(postgres)
  await conflicts.open()
  await conflicts.review(batch[1]!.id, 'looked at')
  await createQuarantineStore(postgres).open()

  const accounts = createAccountStore(postgres, postLedger)
  await accounts.resume(busy)
  await createInvitationStore(postgres, {} as never).hasPaid(busy, other)
  await holds.load(busy, { balancePico: 10n ** 12n, version: 1n })
  await adjustBalance(
    { accountId: busy, eventId: 'evt_1', amountPico: picoUsd(5n), reason: 'test' },
    { postgres, holds },
  )

  const payments = createCallPaymentStore(postgres)
  const paid = newCallId()
  await postgres.$executeRawUnsafe(
    `INSERT INTO accounts (id, name, state) VALUES ('${CALL_PAYMENT_ACCOUNT}', 'x402', 'active') ON CONFLICT DO NOTHING`,
  )
  await postgres.$executeRawUnsafe(
    `INSERT INTO call_payments (call_id, network, asset, payer, nonce, amount_pico, request, expires_at, over_at, state)
     VALUES ($1, 'n', 'a', 'p', '1', 1000000, '{}', now(), now(), 'left')`,
    paid,
  )
  await payments.decideAbandoned(now + DAY_MS)
  expect(await payments.closable(now + DAY_MS)).toEqual([paid])
  await payments.close(paid).catch(() => undefined)

  await postgres.$executeRawUnsafe('UPDATE accounts SET balance_pico = 0 WHERE id = $1', other)
  const holder = await accounts.find(other)
  const announce = async () => undefined
  const logger = pino({ level: 'silent' })
  await createAccountDeletion({
    ...{ postgres, holds, members: { ownedAlone: async () => [] }, logger },
    ...{
      passwordCheck: async () => '',
      forgetCards: async () => undefined,
      clearCachedResponses: async () => 0,
      announce,
    },
    adjustBalance: (adjustment) => adjustBalance(adjustment, { postgres, holds }),
  }).delete(holder!, { personId: other, password: '', forfeitUsd: null })
  const storedResponses = createStoredResponseStore(
    postgres,
    createSealer([Buffer.alloc(32, 7)], STORED_RESPONSE_PURPOSE),
    { bytesPerAccount: 1_000_000, bytesInAll: 1_000_000 },
  )
  const reader = { accountId: busy, keyId: 'key_none' }
  await storedResponses.find(reader, 'chatcmpl_none')
  await storedResponses.chain(reader, 'chatcmpl_none', 1_000)
  await storedResponses.latest(busy)

  await eraseDeletedAccounts({ postgres, holds, announce, logger }, new AbortController().signal)
}

const readsOf = () =>
  ledger.postgres.$queryRawUnsafe<Array<{ name: string; scanned: bigint }>>(`
    SELECT relname AS name, coalesce(seq_tup_read, 0) AS scanned FROM pg_stat_user_tables
    WHERE relname ~ '^(call_records|ledger_transactions|ledger_entries)_' ORDER BY 1`)

test('no statement reads more of a history of a million calls than a bound, or scans it', async () => {
  const before = await readsOf()
  await runEverything()
  expect(uncovered()).toEqual([])
  const client = new pg.Client({ connectionString: ledger.url })
  await client.connect()
  const found: string[] = []
  let explained = 0
  for (const { text, values, isCustom, isByIndex } of [...recorded.values()])
    for (const mode of isCustom ? ['force_custom_plan'] : ['force_custom_plan', 'force_generic_plan']) {
      const plan = await explain(
        client,
        text,
        values,
        isByIndex ? `${mode}; SET LOCAL enable_seqscan = off` : mode,
      )
      if (plan === null) continue
      explained++
      const max = /latest AS|AS latest (?:WHERE|ORDER)/.test(text) ? STATISTICS_ROWS_MAX : ROWS_MAX
      found.push(...excesses(plan, max).map((excess) => `${mode}: ${excess}: ${text.replace(/\s+/g, ' ')}`))
    }
  await client.end()
  expect(found).toEqual([])
  expect(explained).toBeGreaterThan(80)
  // Also what triggers read: the server counts the rows of sequential scans.
  await expect
    .poll(async () => {
      const after = await readsOf()
      return after
        .filter(({ scanned }, at) => scanned - before[at]!.scanned > ROWS_MAX)
        .map(({ name }) => name)
    })
    .toEqual([])
})

describe('a list of a million calls', () => {
  const range = { fromMs: 0, toMs: now }
  let records: CallRecords
  beforeAll(() => {
    records = createCallRecords(ledger.postgres)
  })

  test('is walked forwards and back without a gap, also where calls tie', async () => {
    const span = { fromMs: now - 2 * HOUR_MS, toMs: now - HOUR_MS }
    for (const accountId of [other, null])
      for (const order of accountId === null ? ORDERS.slice(0, 3) : ORDERS) {
        const query = { accountId, range: span, order, filter: { model: 'acme/large-0' } }
        const ids = (await records.list({ ...query, limit: 1_000 })).calls.map(({ id }) => id)
        const pages: ListedCalls[] = []
        expect(ids.length).toBeGreaterThan(10)
        for (let position: CallPosition | null | undefined; position !== null; ) {
          const page = await records.list({ ...query, position: position ?? null, limit: 13 })
          pages.push(page)
          position = page.next
        }
        expect(pages.flatMap(({ calls }) => calls.map(({ id }) => id))).toEqual(ids)
        for (const [at, page] of pages.entries()) {
          if (page.previous === null) expect(at).toBe(0)
          else
            expect((await records.list({ ...query, position: page.previous, limit: 13 })).calls).toEqual(
              pages[at - 1]!.calls,
            )
        }
      }
  })

  test('is searched a part at a time, to its end', async () => {
    const found: string[] = []
    const stops: number[] = []
    const filter = { text: { text: 'request-11', keyIds: [] } }
    for (let position: CallPosition | null | undefined; position !== null; ) {
      const page = await records.list({
        accountId: busy,
        range,
        filter,
        limit: 50,
        position: position ?? null,
      })
      found.push(...page.calls.map(({ requestId }) => requestId))
      if (page.searchedToMs !== null) stops.push(page.searchedToMs)
      position = page.next
    }
    expect(found).toEqual(['request-11'])
    expect(stops).toEqual(stops.toSorted((a, b) => b - a))
    expect(stops).toHaveLength(Math.ceil((0.9 * CALLS) / CALLS_SEARCHED_MAX) - 1)
  })

  test('finds the call of a request of weeks ago by the id that the gateway gave it', async () => {
    const at = now - 40 * DAY_MS
    const requestId = newRequestId(at)
    const call = settlementOf(busy, { id: `chatcmpl_${ulid(at + 2_000)}`, requestId, admittedAt: at + 2_000 })
    await createSettlementStore(ledger.postgres).settle([call])
    for (const accountId of [busy, null])
      for (const filter of [{ requestId }, { text: { text: requestId, keyIds: [] } }])
        expect(await records.list({ accountId, range, filter, limit: 50 })).toMatchObject({
          calls: [{ id: call.id }],
          searchedToMs: null,
        })
  })
})

/** Statements in the source that were not recorded, and queries through Prisma that the list lacks or has too many. */
function uncovered(): string[] {
  const one = (text: string) => text.replace(/\s+/g, ' ')
  const ran = [...recorded.keys()].map(one)
  const prisma: string[] = []
  const missing: string[] = []
  for (const file of sourceFiles()) {
    const source = readFileSync(file, 'utf8')
    for (const [, call] of source.matchAll(/\.((?:callRecord|ledgerTransaction|ledgerEntry)\.\w+)/g))
      prisma.push(`${file} ${call}`)
    const fragments = source.matchAll(
      /(?:FROM|JOIN|UPDATE|INTO|USING)\s+(?:call_records|ledger_transactions|ledger_entries)\b[^`'\n]*/g,
    )
    for (const [fragment] of fragments) {
      const fixed = one(fragment.split('${')[0]!).trim()
      if (!ran.some((text) => text.includes(fixed))) missing.push(`${file}: ${fixed}`)
    }
  }
  expect(prisma.sort()).toEqual(PRISMA_QUERIES)
  return missing
}

const sourceFiles = () =>
  ['src', 'workers']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter((file) => file.endsWith('.ts') && !file.includes('prisma-client') && !RANGE_READERS.test(file))

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** Prepares the statement as its connections do, and runs it without effect. Null: it cannot be run twice. */
async function explain(
  client: pg.Client,
  text: string,
  values: unknown[],
  mode: string,
): Promise<Plan | null> {
  await client.query(`BEGIN; SET LOCAL plan_cache_mode = ${mode}`)
  try {
    await client.query(`PREPARE explained AS ${text}`)
    const list = values.length === 0 ? '' : `(${values.map(literal).join(', ')})`
    const { rows } = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE explained${list}`)
    return rows[0]['QUERY PLAN'][0].Plan
  } catch (error) {
    // Deliberately refused data, of a settlement that was put into quarantine.
    if (/^(null value|insert or update)/.test((error as Error).message)) return null
    throw error
  } finally {
    await client.query('ROLLBACK')
    await client.query('DEALLOCATE ALL')
  }
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return pg.escapeLiteral(toText(value))
}

function toText(value: unknown): string {
  if (Array.isArray(value))
    return `{${value.map((item) => `"${String(item).replaceAll('"', '\\"')}"`).join(',')}}`
  if (value instanceof Date) return value.toISOString()
  return String(value)
}

/** Nodes of a plan that read more than `max` rows of history. */
function excesses(plan: Plan, max: number): string[] {
  const relation = plan['Relation Name'] ?? ''
  const perLoop =
    plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)
  const rows = perLoop * plan['Actual Loops']
  const isHistory = /^(call_records|ledger_transactions|ledger_entries|usage_totals)/.test(relation)
  const isExcess = isHistory && plan['Node Type'] !== 'ModifyTable' && rows > max
  const below = (plan.Plans ?? []).flatMap((child) => excesses(child, max))
  return isExcess ? [`${plan['Node Type']} of ${rows} rows of ${relation}`, ...below] : below
}
