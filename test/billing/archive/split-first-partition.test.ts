import { Client } from 'pg'
import { ulid } from 'ulid'
import { expect, onTestFinished, test } from 'vitest'
import { splitFirstPartition } from '../../../src/billing/archive/split-first-partition.ts'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { DAY_MS } from '../../../src/core/kernel/time.ts'
import { createPostgres, type Postgres, sqlStateOf } from '../../../src/platform/postgres/postgres.ts'
import { openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

const RESTRICT_VIOLATION = '23001'

const ledger = testLedger()

const startOf = (ahead: number): number => {
  const now = new Date()
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead)
}
const monthOf = (ahead: number): string => new Date(startOf(ahead)).toISOString().slice(0, 7)
const partition = (table: string, ahead: number) => `${table}_${monthOf(ahead).replace('-', '_')}`

async function hashes(postgres: Postgres): Promise<unknown> {
  const tables = ['call_records', 'ledger_transactions', 'ledger_entries', 'ledger_notes', 'operator_actions']
  const of = (table: string) =>
    `SELECT '${table}' AS name, count(*)::text AS rows, sum(hashtextextended(t::text, 0))::text AS hash FROM ${table} AS t`
  return postgres.$queryRawUnsafe(
    `${tables.map(of).join(' UNION ALL ')} UNION ALL ${of('usage_totals')} UNION ALL ${of('ledger_totals')} ORDER BY 1`,
  )
}

test('a split that is killed again and again continues, and loses or doubles nothing', async () => {
  const { postgres } = ledger
  const account = await openTestAccount(postgres, 1_000_000n)
  const calls = [-14, -2, -2, -1, 0].flatMap((ahead) =>
    Array.from({ length: 12 }, (_, index) =>
      settlementOf(account, {
        id: `chatcmpl_${ulid(startOf(ahead) + index * 3_600_000)}`,
        admittedAt: startOf(ahead),
      }),
    ),
  )
  await createSettlementStore(postgres).settle(calls)
  await postgres.operatorAction.create({
    data: {
      id: `act_${ulid(startOf(-2))}`,
      actor: 'a',
      action: 'b',
      target: 'c',
      outcome: 'asked',
      details: {},
      requestId: 'd',
    },
  })
  const before = await hashes(postgres)
  const admin = new Client({ connectionString: ledger.url })
  await admin.connect()
  onTestFinished(() => admin.end())
  const clock = () => startOf(1) + 8 * DAY_MS

  /** Runs the split over a connection that is cut after so many statements. */
  const runUntil = async (statements: number): Promise<string[] | null> => {
    const own = createPostgres({ databaseUrl: ledger.url, name: 'split', poolSize: 1 })
    let count = 0
    const plain = {
      query: async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> => {
        count += 1
        const kill = async () => {
          if (count >= statements)
            await admin.query(
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'split'",
            )
        }
        const [rows] = await Promise.all([own.plain.query<Row>(text, values), kill()])
        return rows
      },
    }
    try {
      return await splitFirstPartition({ postgres: { plain } as unknown as Postgres, clock }, 5)
    } catch {
      return null
    } finally {
      await own.$disconnect().catch(() => undefined)
    }
  }
  await expect(splitFirstPartition({ postgres, clock: () => startOf(1) + 6 * DAY_MS })).rejects.toThrow(
    /from/,
  )
  let months: string[] | null = null
  let kills = 0
  for (let statements = 4; months === null; statements += 17) {
    months = await runUntil(statements)
    kills += 1
    expect(await hashes(postgres)).toEqual(before)
  }
  expect(kills).toBeGreaterThan(3)
  expect(months).toEqual(Array.from({ length: 15 }, (_, index) => monthOf(index - 14)))
  expect(await postgres.callRecord.count()).toBe(calls.length)
  const rows = await postgres.$queryRawUnsafe<Array<{ name: string; rows: string }>>(
    'SELECT tableoid::regclass::text AS name, count(*)::text AS rows FROM call_records GROUP BY 1 ORDER BY 1',
  )
  expect(rows).toEqual([
    { name: partition('call_records', -14), rows: '12' },
    { name: partition('call_records', -2), rows: '24' },
    { name: partition('call_records', -1), rows: '12' },
    { name: partition('call_records', 0), rows: '12' },
  ])

  // The new partitions are like any other: open, guarded, and counted.
  await createSettlementStore(postgres).settle([
    settlementOf(account, { id: `chatcmpl_${ulid(startOf(-2))}` }),
  ])
  const refused = await postgres
    .$executeRawUnsafe(`DELETE FROM ${partition('ledger_entries', -2)}`)
    .then(() => null, sqlStateOf)
  expect(refused).toBe(RESTRICT_VIOLATION)
  const { checks } = await auditLedger(postgres, { reach: 'full' })
  const broken = checks.filter(({ broken }) => broken > 0).map(({ name }) => name)
  expect(broken).toEqual([])
  expect(await splitFirstPartition({ postgres, clock })).toEqual([])
})
