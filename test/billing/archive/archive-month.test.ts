import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { ulid } from 'ulid'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { archiveDueMonths } from '../../../src/billing/archive/archive-due-months.ts'
import { type ArchivedFiles, archiveMonth } from '../../../src/billing/archive/archive-month.ts'
import { createMonthPartitions } from '../../../src/billing/archive/month-partitions.ts'
import { verifyArchive } from '../../../src/billing/archive/verify-archive.ts'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { createCallRecords } from '../../../src/billing/call-records/call-records.ts'
import { createCreditStore } from '../../../src/billing/ledger/credit-store.ts'
import { createLedgerListStore, readLedgerCursor } from '../../../src/billing/ledger/ledger-list-store.ts'
import { postLedger } from '../../../src/billing/ledger/ledger-store.ts'
import { createStatementReader } from '../../../src/billing/ledger/statement-store.ts'
import { createConflictStore } from '../../../src/billing/settlement/conflict-store.ts'
import { createQuarantineStore } from '../../../src/billing/settlement/quarantine-store.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import {
  adjustmentPosting,
  callPaymentClosing,
  callPaymentPosting,
  type Posting,
} from '../../../src/core/billing/postings.ts'
import type { SettlementRecord } from '../../../src/core/calls/call-job.ts'
import type { CallId } from '../../../src/core/kernel/ids.ts'
import { picoUsd } from '../../../src/core/kernel/money.ts'
import { DAY_MS } from '../../../src/core/kernel/time.ts'
import {
  openTestAccount,
  openTestLedger,
  settlementOf,
  type TestLedger,
  unservedSettlementOf,
} from '../../helpers/billing.ts'

/** `2026-11` of the month that begins `ahead` months after this one. The first partition holds this month. */
function monthName(ahead: number): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead)).toISOString().slice(0, 7)
}

const startOf = (ahead: number): number => Date.parse(`${monthName(ahead)}-01T00:00:00Z`)

let ledger: TestLedger
let folder: string
let account: string
beforeEach(async () => {
  ledger = await openTestLedger()
  folder = mkdtempSync(join(tmpdir(), 'shuntyard-archive-'))
  onTestFinished(async () => {
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })
  account = await openTestAccount(ledger.postgres, 10_000n)
  const rates = { prompt: 1n, completion: 2n, listPrompt: 1n, listCompletion: 2n }
  await ledger.postgres.rateVersion.create({
    data: { modelId: 'acme/large-1', rateVersion: 'v1', ...rates, source: 'test' },
  })
})

/** A call of a month, of 50 pico-USD. */
const callOf = (ahead: number, changes: Partial<SettlementRecord> = {}): SettlementRecord => {
  const at = startOf(ahead) + 12 * DAY_MS
  return settlementOf(account, {
    id: `chatcmpl_${ulid(at)}`,
    admittedAt: at,
    claimedAt: at,
    firstTokenAt: at,
    finishedAt: at,
    ...changes,
  })
}

const settle = (...records: SettlementRecord[]) => createSettlementStore(ledger.postgres).settle(records)

const archive = async (
  ahead: number,
  {
    atMs = startOf(ahead + 1) + 8 * DAY_MS,
    ok = true,
    held = [] as CallId[],
    isProven = true,
    lagMs = 0,
    stopping = undefined as AbortSignal | undefined,
  } = {},
): Promise<ArchivedFiles> => {
  if (isProven) await auditLedger(ledger.postgres)
  return archiveMonth(
    {
      postgres: ledger.postgres,
      holds: {
        accounts: async () => [account],
        openHolds: async () => held.map((callId) => ({ callId })) as never,
      },
      audits: { latest: async () => ({ ok, at: new Date(atMs) }) as never },
      clickHouse: { select: async () => [{ completeAtMs: atMs - lagMs }] as never },
      clock: () => atMs,
    },
    monthName(ahead),
    folder,
    stopping,
  )
}

/** The sum of each ledger account, as its entries have it. */
const sums = () =>
  ledger.postgres.$queryRawUnsafe(
    `SELECT ledger_account, sum(amount_pico)::text FROM ledger_entries GROUP BY 1 HAVING sum(amount_pico) <> 0 ORDER BY 1`,
  )

async function brokenChecks(): Promise<string[]> {
  const { checks } = await auditLedger(ledger.postgres, { reach: 'full' })
  return checks.filter(({ broken }) => broken > 0).map(({ name }) => name)
}

const credits = () =>
  createCreditStore(ledger.postgres, { balance: () => Promise.reject(new Error('away')) }).find(account)

/** Credits a call whose caller was told that it failed: the transaction has the id of the call. */
const creditCall = (callId: string, amountPico: bigint) =>
  ledger.postgres.$transaction(async (transaction) => {
    await postLedger(transaction, adjustmentPosting(callId, account, picoUsd(amountPico)))
    await transaction.ledgerNote.create({
      data: { id: callId, kind: 'adjustment', reason: 'failed, "really"' },
    })
  })

test('a month leaves, and every balance, total and later statement stays what it was', async () => {
  const { postgres } = ledger
  const old = [
    callOf(0),
    callOf(0),
    callOf(0, { status: 'failed', served: null, chargePico: '0', errorCode: 'all_providers_failed' }),
  ]
  await settle(...old, callOf(1))
  await creditCall(old[0]!.id, 20n)
  const statement = () =>
    createStatementReader(postgres)(account, { fromMs: startOf(1), toMs: startOf(2) }, 100)
  const totals = () =>
    postgres.$queryRawUnsafe(`
      SELECT to_jsonb(t)::text AS total FROM ledger_totals AS t UNION ALL SELECT to_jsonb(t)::text FROM usage_totals AS t
      UNION ALL SELECT to_jsonb(t)::text FROM spend_totals AS t ORDER BY 1`)
  const all = async () => ({
    sums: await sums(),
    credits: await credits(),
    statement: await statement(),
    totals: await totals(),
  })
  const before = await all()
  expect(before.credits).toMatchObject({ totalUsagePico: 150n, totalCreditsPico: 10_020n })

  const archived = await archive(0)

  expect(archived.rows).toMatchObject({
    call_records: 3,
    ledger_transactions: 3,
    ledger_entries: 6,
    ledger_notes: 1,
  })
  expect(await postgres.callRecord.count()).toBe(1)
  expect(await all()).toEqual(before)
  expect(await brokenChecks()).toEqual([])
  const calls = createCallRecords(postgres)
  expect([await calls.isArchived(old[0]!.id), await calls.isArchived(callOf(1).id)]).toEqual([true, false])
  const [month] = await postgres.archivedMonth.findMany()
  expect(month).toMatchObject({ calls: 3n, manifestSha256: archived.sha256 })
  const lines = await createLedgerListStore(postgres).page(account, readLedgerCursor(undefined), 10)
  expect(
    lines.map((line) => ('kind' in line ? [line.kind, line.amountPico] : [line.type, line.amountPico])),
  ).toEqual(
    expect.arrayContaining([
      ['charges', -50n],
      ['charges', -100n],
      ['carried_credits', 20n],
      ['credit', 10_000n],
    ]),
  )
  expect(lines.reduce((sum, line) => sum + line.amountPico, 0n)).toBe(9_870n)
})

test('months leave one after the other', async () => {
  await settle(callOf(0), callOf(1))
  const before = await sums()
  await archive(0)
  await archive(1)
  expect(await sums()).toEqual(before)
  expect(await brokenChecks()).toEqual([])
  await settle(callOf(2))
  expect(await brokenChecks()).toEqual([])
})

test('paid calls leave, and their payments stay', async () => {
  const { postgres } = ledger
  const [payer, call] = ['acct_x402', callOf(0)]
  await postgres.$executeRawUnsafe(
    `INSERT INTO accounts (id, name, state) VALUES ('${payer}', 'x402', 'active') ON CONFLICT DO NOTHING`,
  )
  const terms = { terms: { amount: '1' }, payload: { payload: { authorization: { value: '1' } } } }
  const pay = (state: string, callId: string) =>
    postgres.$executeRawUnsafe(
      `INSERT INTO call_payments (call_id, network, asset, payer, nonce, amount_pico, request, expires_at, over_at, state, transaction, closed_at)
       VALUES ($1, 'n', 'a', 'p', $1, 1000000, $2::jsonb, now(), now(), $3::call_payment_state, $4, now())`,
      ...[callId, terms, state, state === 'settled' ? '0x1' : null],
    )
  await pay('settled', call.id)
  const unpaid = callOf(0)
  await pay('unpaid', unpaid.id)
  const post = (posting: Posting) => postgres.$transaction((transaction) => postLedger(transaction, posting))
  for (const { id } of [call, unpaid]) await post(callPaymentPosting(id, picoUsd(1_000_000n)))
  await settle({ ...call, accountId: payer }, { ...unpaid, accountId: payer })
  const closing = { amountPico: 1_000_000n, remainingPico: 999_950n }
  await post(callPaymentClosing(call.id, { ...closing, isSettled: true })!)
  await post(callPaymentClosing(unpaid.id, { ...closing, isSettled: false })!)
  expect(await brokenChecks()).toEqual([])
  const before = await sums()
  expect((await archive(0)).rows).toMatchObject({ call_records: 2, ledger_transactions: 6 })
  expect(await sums()).toEqual(before)
  expect(await brokenChecks()).toEqual([])
  expect(await postgres.callPayment.count()).toBe(2)
})

test('an archive without calls is one too, and a month is archived once', async () => {
  expect((await archive(0)).rows).toMatchObject({ call_records: 0, ledger_entries: 0 })
  await expect(archive(0)).rejects.toThrow('is archived already')
  expect(await brokenChecks()).toEqual([])
})

test('a settlement that is repeated after its month was archived charges nothing and waits for an operator', async () => {
  const { postgres } = ledger
  const call = callOf(0)
  await settle(call)
  await archive(0)
  const { quarantined } = await settle(call, callOf(1))
  expect(quarantined).toEqual([
    { callId: call.id, accountId: account, reason: expect.stringContaining('archived') },
  ])
  expect(await credits()).toMatchObject({ totalUsagePico: 100n })
  const quarantine = createQuarantineStore(postgres)
  expect((await quarantine.open()).map(({ id }) => id)).toEqual([call.id])
  expect(await quarantine.isUnsettleable(call.id)).toBe(true)
  await quarantine.close(call.id)
  expect(await quarantine.open()).toEqual([])
})

test('a decided quarantine of an archived call stays decided', async () => {
  const call = callOf(0)
  await settle({ ...call, chargePico: '200' })
  await settle(call)
  await archive(0)
  expect(await createQuarantineStore(ledger.postgres).open()).toEqual([])
})

test('a closed month whose archive did not finish refuses changes, and its archive can be run again', async () => {
  const { postgres } = ledger
  const call = callOf(0, { labels: { title: 'App' } as never })
  await settle(call)
  const before = await sums()
  await postgres.$executeRawUnsafe(`SELECT close_month('${monthName(0)}-01')`)
  expect((await settle(callOf(0))).quarantined).toHaveLength(1)
  await postgres.$executeRawUnsafe('UPDATE call_records SET labels = NULL')
  await expect(postgres.$executeRawUnsafe('UPDATE call_records SET charge_pico = 1')).rejects.toThrow(
    /closed/,
  )
  const [waiting] = await createQuarantineStore(postgres).open()
  await expect(archive(0)).rejects.toThrow(
    `1 settlements in quarantine (quarantine list), ${waiting!.id} for one`,
  )
  await postgres.$executeRawUnsafe('DELETE FROM quarantined_settlements')
  await archive(0)
  expect(await sums()).toEqual(before)
})

/** Fails the next statement with a text, as a process that is killed there; returns what was read and `resume`. */
function killedAt(part: string) {
  const { plain } = ledger.postgres
  const query = plain.query
  const read: string[] = []
  plain.query = (text, values) => {
    if (text.includes(' AS source ')) read.push(text)
    return text.includes(part) ? Promise.reject(new Error('killed')) : query(text, values)
  }
  const resume = () => {
    part = 'nothing'
    read.length = 0
  }
  return { read, resume }
}

test('an interrupted archive resumes after its last complete file and leaves no extra folder', async () => {
  await settle(callOf(0), callOf(0))
  const target = join(folder, monthName(0))
  // Of a process of an earlier version that was killed.
  mkdirSync(`${target}.partial-4711`)
  const { read, resume } = killedAt('FROM ledger_transactions_until')
  await expect(archive(0)).rejects.toThrow('killed')
  expect(readdirSync(folder)).toEqual([`${monthName(0)}.partial`])
  resume()
  const archived = await archive(0)
  expect(read[0]).toContain('FROM ledger_transactions_until')
  expect(archived.rows).toMatchObject({ call_records: 2, ledger_transactions: 2 })
  expect(readdirSync(folder)).toEqual([monthName(0)])
  expect(readdirSync(target).filter((name) => !/^(manifest\.json|\w+\.csv\.gz)$/.test(name))).toEqual([])
  expect(await brokenChecks()).toEqual([])
})

test('an archive that was killed before its last step is not exported again', async () => {
  await settle(callOf(0))
  const { read, resume } = killedAt('SELECT archive_month')
  await expect(archive(0)).rejects.toThrow('killed')
  resume()
  await archive(0)
  expect(read).toEqual([])
  expect(await brokenChecks()).toEqual([])
})

test('a month is counted some rows at a time, which resumes, and leaves by these counts', async () => {
  const { postgres } = ledger
  const calls = Array.from({ length: 5 }, () => callOf(0))
  await settle(...calls)
  await creditCall(calls[0]!.id, 20n)
  const counted = async () => ({
    counts: await postgres.archiveCount.findMany({ orderBy: { tableName: 'asc' } }),
    sums: await postgres.$queryRaw`
      SELECT kind::text, ledger_account, amount_pico::int AS amount FROM archive_sums ORDER BY 1, 2`,
  })
  const countNext = async () => {
    const [step] = await postgres.$queryRawUnsafe<Array<{ isMore: boolean }>>(
      `SELECT count_closed_month('${monthName(0)}-01', 2) AS "isMore"`,
    )
    return step!.isMore
  }
  await expect(countNext()).rejects.toThrow(/is not closed/)
  await postgres.$executeRawUnsafe(`SELECT close_month('${monthName(0)}-01')`)
  // Those of the calls, two and two and one.
  for (const left of [3, 1]) {
    await countNext()
    const [{ counts }] = [await counted()]
    expect(counts[0]).toMatchObject({ tableName: 'call_records', counted: BigInt(5 - left) })
  }
  let steps = 2
  while (await countNext()) steps += 1
  expect(steps).toBeGreaterThan(10)
  const { counts, sums: found } = await counted()
  expect(counts.map(({ tableName, countedTo, counted: rows }) => [tableName, countedTo, rows])).toEqual([
    ['call_records', null, 5n],
    ['ledger_entries', null, 12n],
    ['ledger_notes', null, 1n],
    ['ledger_transactions', null, 6n],
    ['operator_actions', null, expect.any(BigInt)],
  ])
  expect(counts[0]!.chargePico.toString()).toBe('250')
  expect(found).toEqual([
    { kind: 'carried_charges', ledger_account: `customer:${account}`, amount: -250 },
    { kind: 'carried_charges', ledger_account: 'revenue', amount: 250 },
    { kind: 'carried_credits', ledger_account: 'adjustments', amount: -20 },
    { kind: 'carried_credits', ledger_account: `customer:${account}`, amount: 20 },
  ])
  const before = await sums()
  expect((await archive(0)).manifest).toMatchObject({ charge_pico: '250', sums: { revenue: '250' } })
  expect(await sums()).toEqual(before)
  expect(await counted()).toEqual({ counts: [], sums: [] })
  expect(await brokenChecks()).toEqual([])
})

test('an archive stops within a month when its process does, without an alarm, and the next run resumes it', async () => {
  const { postgres } = ledger
  await settle(callOf(0), callOf(0))
  const { query } = postgres.plain
  for (const part of ['count_closed_month', ' AS source ', 'archive_sums']) {
    const stop = new AbortController()
    postgres.plain.query = (text, values) => {
      if (text.includes(part)) stop.abort()
      return query(text, values)
    }
    await expect(archive(0, { stopping: stop.signal })).rejects.toThrow(/aborted/)
  }
  postgres.plain.query = query
  expect(await postgres.callRecord.count()).toBe(2)
  const logged: string[] = []
  const logger = pino({}, { write: (line: string) => void logged.push(line) })
  const stop = new AbortController()
  await archiveDueMonths(
    {
      ...{ postgres, folder, logger, keptMonths: 2, clock: () => startOf(3), clickHouse: null },
      holds: { accounts: async () => [], openHolds: async () => [] },
      audits: {
        latest: async () => {
          stop.abort()
          return { ok: true, at: new Date(startOf(3)) } as never
        },
      },
    },
    stop.signal,
  )
  expect(logged).toEqual([])
  expect((await archive(0)).rows).toMatchObject({ call_records: 2 })
  expect(await brokenChecks()).toEqual([])
})

test('files of another state of the database are not taken for those of this one', async () => {
  const { postgres } = ledger
  await settle(callOf(0), callOf(0))
  const { resume } = killedAt('SELECT archive_month')
  await expect(archive(0)).rejects.toThrow('killed')
  resume()
  // As in a database that was restored: it has a note that the files lack, and has counted nothing.
  await postgres.$transaction([
    postgres.archiveCount.deleteMany(),
    postgres.archiveSum.deleteMany(),
    postgres.$executeRawUnsafe('SET LOCAL session_replication_role = replica'),
    postgres.$executeRawUnsafe(
      `INSERT INTO ledger_notes (id, kind, reason) SELECT min(id), 'adjustment', 'late' FROM call_records`,
    ),
  ])
  await expect(archive(0)).rejects.toThrow(/its archive/)
  expect(readdirSync(folder)).toEqual([expect.stringMatching(/\.refused-\d+$/)])
  expect((await archive(0)).rows).toMatchObject({ ledger_notes: 1 })
})

test('months that are kept long enough are archived by themselves, and a failure is an alarm', async () => {
  const { postgres } = ledger
  await settle(callOf(0), callOf(1))
  const logged: Array<Record<string, unknown>> = []
  const logger = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) })
  const run = (atMs: number, ok = true) =>
    archiveDueMonths({
      ...{ postgres, folder, logger, keptMonths: 2, clock: () => atMs },
      holds: { accounts: async () => [], openHolds: async () => [] },
      audits: { latest: async () => ({ ok, at: new Date(atMs) }) as never },
      clickHouse: null,
    })
  await run(startOf(3) - 1)
  expect(logged).toEqual([])
  await auditLedger(postgres)
  await run(startOf(3), false)
  expect(logged).toMatchObject([{ alarm: 'archive-failed', month: monthName(0) }])
  await run(startOf(3))
  expect(await postgres.archivedMonth.count()).toBe(1)
  await run(startOf(4))
  expect(await postgres.archivedMonth.count()).toBe(2)
  expect(logged.at(-1)).toMatchObject({
    msg: 'month archived',
    month: monthName(1),
    alarmsOver: ['archive-failed'],
  })
  expect(await brokenChecks()).toEqual([])
})

test('settlements commit while a month is archived and partitions are created', async () => {
  const { postgres } = ledger
  account = await openTestAccount(postgres, 1_000_000n)
  await settle(...Array.from({ length: 200 }, () => callOf(0)))
  const next = monthName(3).replace('-', '_')
  let isDone = false
  const settled: SettlementRecord[] = []
  const settling = [0, 1].map(async () => {
    while (!isDone) {
      const batch = [callOf(1), callOf(2)]
      settled.push(...batch)
      // A settlement that is cancelled for a lock is repeated, as its worker does.
      const { quarantined } = await settle(...batch).catch(() => settle(...batch))
      expect(quarantined).toEqual([])
    }
  })
  for (const table of ['ledger_transactions', 'ledger_entries', 'call_records'])
    await postgres.$executeRawUnsafe(`DROP TABLE ${table}_${next}`)
  await createMonthPartitions({ postgres, logger: pino({ level: 'silent' }) })
  await archive(0)
  isDone = true
  await Promise.all(settling)
  expect(await postgres.callRecord.count()).toBe(settled.length)
  expect(await credits()).toMatchObject({ totalUsagePico: BigInt(50 * (200 + settled.length)) })
  expect(await brokenChecks()).toEqual([])
})

describe('a month is refused', () => {
  test('before it has rested, after a younger one, and while its rows or its proofs may be incomplete', async () => {
    const call = callOf(0)
    await settle(call)
    await expect(archive(0, { isProven: false })).rejects.toThrow(
      `no audit has proven (npm run audit), ${call.id}`,
    )
    await auditLedger(ledger.postgres)
    const refusals: Array<[Parameters<typeof archive>, string | RegExp]> = [
      [[0, { atMs: startOf(1) + 6 * DAY_MS }], /can be archived from/],
      [[1], `${monthName(0)} is older than ${monthName(1)}: archive it first`],
      [[0, { ok: false }], /audit/],
      [[0, { lagMs: 2 * 3_600_000 }], /ClickHouse is more than an hour behind/],
      [[0, { held: [call.id] }], /open hold/],
    ]
    for (const [[ahead, but], reason] of refusals)
      await expect(archive(ahead, { ...but, isProven: false })).rejects.toThrow(reason)
  })

  test('with a call in the default partition', async () => {
    const call = callOf(1)
    for (const table of ['ledger_entries', 'ledger_transactions', 'ledger_notes', 'call_records'])
      await ledger.postgres.$executeRawUnsafe(`DROP TABLE ${table}_${monthName(1).replace('-', '_')}`)
    await settle(call)
    await archive(0)
    await expect(archive(1)).rejects.toThrow(/no partition/)
    await ledger.postgres.$executeRawUnsafe(`SELECT create_month_partitions('${monthName(3)}-01')`)
    expect((await archive(1)).rows.call_records).toBe(1)
  })

  test('whose files differ from the database', async () => {
    const { postgres } = ledger
    await settle(callOf(0))
    await postgres.$executeRawUnsafe(`SELECT close_month('${monthName(0)}-01')`)
    const expected = (rows: number, entries: number, pico: string) =>
      postgres.$queryRawUnsafe(`SELECT archive_month('${monthName(0)}-01', $1::jsonb, repeat('a', 64))`, {
        ...{ rows: { call_records: rows }, carried_entries: entries, carried_pico: pico },
      })
    await expect(expected(2, 2, '100')).rejects.toThrow(/1 rows of call_records, its archive 2/)
    await expect(expected(1, 1, '50')).rejects.toThrow(/carries 2 entries of 100, its archive 1 of 50/)
    expect(await postgres.callRecord.count()).toBe(1)
  })
})

test('an archive is proven by its files: one that is missing or was changed is found', async () => {
  await settle(callOf(0), callOf(0))
  const archived = await archive(0)
  expect(await verifyArchive(join(archived.folder, 'manifest.json'))).toMatchObject({
    sha256: archived.sha256,
  })
  const verifyChanged = async (name: string, change: (path: string) => void): Promise<string> => {
    const copy = join(folder, 'changed')
    rmSync(copy, { recursive: true, force: true })
    cpSync(archived.folder, copy, { recursive: true })
    change(join(copy, name))
    return verifyArchive(copy).then(
      () => 'verified',
      (error: Error) => error.message,
    )
  }
  expect(await verifyChanged('call_records.csv.gz', (path) => appendFileSync(path, 'x'))).toMatch(
    /unexpected end|differs/,
  )
  const misstate = (path: string) =>
    writeFileSync(path, readFileSync(path, 'utf8').replace('"revenue": "100"', '"revenue": "99"'))
  expect(await verifyChanged('manifest.json', misstate)).toMatch(/revenue sum to 100, the manifest says 99/)
  expect(await verifyChanged('ledger_entries.csv.gz', (path) => rmSync(path))).toMatch(/ENOENT/)
})

test('a call with contradicting records is archived once an operator decided on it', async () => {
  const call = callOf(0)
  await settle(unservedSettlementOf(account, { id: call.id, requestId: call.id }))
  await settle(call)
  await expect(archive(0)).rejects.toThrow(/contradict/)
  await createConflictStore(ledger.postgres).review(call.id, 'the later record counts')
  await archive(0)
  expect(await brokenChecks()).toEqual([])
  expect(await createConflictStore(ledger.postgres).open()).toEqual([])
})
