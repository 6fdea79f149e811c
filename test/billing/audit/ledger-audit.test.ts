import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { CheckResult } from '../../../src/billing/audit/audit-findings.ts'
import { auditLedger } from '../../../src/billing/audit/ledger-audit.ts'
import { TOTALS_AUDIT_CHECKS } from '../../../src/billing/audit/totals-audit-checks.ts'
import {
  createSettlementStore,
  type SettlementStore,
} from '../../../src/billing/settlement/settlement-store.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { createPostgres } from '../../../src/platform/postgres/postgres.ts'
import { openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

const ledger = testLedger()
let store: SettlementStore
let account: string

/** Runs statements without the triggers that guard the ledger, as a mistake in the database would. */
const damage = (...statements: string[]) =>
  ledger.postgres.$transaction(async (transaction) => {
    await transaction.$executeRawUnsafe('SET LOCAL session_replication_role = replica')
    for (const statement of statements) await transaction.$executeRawUnsafe(statement)
  })

/** Damage here is done to records, of which the totals then differ as well. Those have their own tests. */
const OF_TOTALS = new Set(TOTALS_AUDIT_CHECKS.map(({ name }) => name))
const namesOf = (checks: CheckResult[]) =>
  checks.filter(({ broken, name }) => broken > 0 && !OF_TOTALS.has(name)).map(({ name }) => name)

/** The names of the checks that fail. */
const failing = async (reach: 'new' | 'full' = 'new') =>
  namesOf((await auditLedger(ledger.postgres, { reach })).checks)

const settled = async () => {
  const call = settlementOf(account)
  await store.settle([call])
  return call.id
}

/**
 * Settles a call and proves it and all before it, so that what changes it afterwards is all that is new. What was broken and
 * mended before is found no more.
 */
const proven = async () => {
  const call = await settled()
  expect(await failing('full')).toEqual([])
  return call
}

beforeAll(async () => {
  store = createSettlementStore(ledger.postgres)
  const rates = { prompt: 1n, completion: 2n, listPrompt: 2n, listCompletion: 4n }
  await ledger.postgres.rateVersion.create({
    data: { modelId: 'acme/large-1', rateVersion: 'v1', source: 'test', ...rates },
  })
})
beforeEach(async () => {
  account = await openTestAccount(ledger.postgres, 1_000_000n)
})

const entry = (id: string, kind: string, ledgerAccount: string, amount: number) =>
  `INSERT INTO ledger_entries (transaction_id, kind, ledger_account, amount_pico) VALUES ('${id}', '${kind}', '${ledgerAccount}', ${amount})`
const transaction = (id: string, kind: string, accountId: string) =>
  `INSERT INTO ledger_transactions (id, kind, account_id) VALUES ('${id}', '${kind}', '${accountId}')`
const noEntry = (id: string, ledgerAccount: string) =>
  `DELETE FROM ledger_entries WHERE transaction_id = '${id}' AND ledger_account = '${ledgerAccount}'`
const noTransaction = (id: string) => `DELETE FROM ledger_transactions WHERE id = '${id}'`
const callSet = (id: string, set: string) => `UPDATE call_records SET ${set} WHERE id = '${id}'`

const CAPTURED = "a call's charge is what the ledger captured, from its own account, as revenue or as a fee"
const BALANCED = 'every ledger transaction balances'
const ROOTED = 'every ledger entry belongs to a transaction, and a customer entry to its account'
const PRICED = 'a charge is tokens times rates, and a failed call or a duplicate costs nothing'
const AT_RAIL = "a payment's money is where the ledger has it: at its rail, in dispute, or gone back"
const BALANCE = "an account's balance is the sum of its entries"
const PAID_BY_CALL =
  "a call payment's money is where the ledger has it: authorized, received for its call, or not asked for"

const payment = (id: string, settledPico: number) => `
  INSERT INTO payments (id, account_id, rail, state, amount_pico, settled_pico, settled_at)
  SELECT '${id}', id, 'stripe', 'settled', ${settledPico}, ${settledPico}, now() FROM accounts WHERE id LIKE 'acct_%' LIMIT 1`
const callPayment = (id: string, state: string, amount = 1_000_000, quoted = '1') => `
  INSERT INTO call_payments (call_id, network, asset, payer, nonce, amount_pico, request, expires_at, over_at, state, transaction)
  VALUES ('${id}', 'n', 'a', 'p', '${id}', ${amount},
    '{"terms": {"amount": "${quoted}"}, "payload": {"payload": {"authorization": {"value": "${quoted}"}}}}',
    now(), now() - interval '1 minute', '${state}', CASE WHEN '${state}' = 'settled' THEN 'tx' END)`

/** Damage in rows that are new or change, by name: what breaks, what mends it, and the checks that find it. */
const NEW_DAMAGE: Record<
  string,
  [breaks: (call: string) => string[], mends: (call: string) => string[], string[]]
> = {
  'an entry is added to a proven transaction': [
    (call) => [entry(call, 'capture', 'adjustments', 7)],
    (call) => [noEntry(call, 'adjustments')],
    [BALANCED, CAPTURED, 'all ledger entries sum to zero'],
  ],
  'entries have no transaction': [
    () => [entry('stray', 'capture', 'revenue', 7), entry('stray', 'capture', `customer:${account}`, -7)],
    () => [noEntry('stray', 'revenue'), noEntry('stray', `customer:${account}`)],
    [ROOTED, CAPTURED, BALANCE],
  ],
  'a call is captured twice': [
    (call) => [entry(call, 'capture', 'byok_fees', 7), entry(call, 'capture', 'adjustments', -7)],
    (call) => [noEntry(call, 'byok_fees'), noEntry(call, 'adjustments')],
    ['a call has at most one capture', CAPTURED],
  ],
  'a charge is changed': [
    (call) => [callSet(call, 'charge_pico = 49, written_xact = written_xact()')],
    (call) => [callSet(call, 'charge_pico = 50, written_xact = written_xact()')],
    [CAPTURED, PRICED],
  ],
  'a balance is changed': [
    () => [`UPDATE accounts SET balance_pico = balance_pico + 1 WHERE id = '${account}'`],
    () => [`UPDATE accounts SET balance_pico = balance_pico - 1 WHERE id = '${account}'`],
    [BALANCE],
  ],
  'a debt is changed': [
    () => [`UPDATE accounts SET owed_pico = 1 WHERE id = '${account}'`],
    () => [`UPDATE accounts SET owed_pico = 0 WHERE id = '${account}'`],
    ['an account owes exactly what its receivable holds'],
  ],
  'a new adjustment has no reason': [
    () => [
      transaction('adj', 'adjustment', account),
      entry('adj', 'adjustment', 'adjustments', -7),
      entry('adj', 'adjustment', `customer:${account}`, 7),
    ],
    () => [noEntry('adj', 'adjustments'), noEntry('adj', `customer:${account}`), noTransaction('adj')],
    ['every adjustment has a reason', BALANCE],
  ],
  'a call is of no account': [
    (call) => [callSet(call, "account_id = 'acct_none', written_xact = written_xact()")],
    (call) => [callSet(call, `account_id = '${account}', written_xact = written_xact()`)],
    [CAPTURED, 'every call belongs to an account'],
  ],
  'a settlement is in quarantine': [
    () => ["INSERT INTO quarantined_settlements (id, reason, record) VALUES ('chatcmpl_q', 'refused', '{}')"],
    () => ['DELETE FROM quarantined_settlements'],
    ['no settlement is in quarantine'],
  ],
  'a payment has no money': [
    () => [payment('pay_1', 500)],
    () => ["DELETE FROM payments WHERE id = 'pay_1'"],
    [AT_RAIL],
  ],
  'money of a rail has no payment': [
    () => [
      transaction('pay_2/1', 'refund', account),
      entry('pay_2/1', 'refund', 'rail:stripe', 7),
      entry('pay_2/1', 'refund', `customer:${account}`, -7),
    ],
    () => [
      noEntry('pay_2/1', 'rail:stripe'),
      noEntry('pay_2/1', `customer:${account}`),
      noTransaction('pay_2/1'),
    ],
    [
      AT_RAIL,
      'a rail and the disputes move by payments alone, each by its own rail and for its own account',
      BALANCE,
    ],
  ],
  'an event of a rail is not applied': [
    () => [
      payment('pay_3', 500),
      "UPDATE payments SET settled_pico = 0, settled_at = NULL, state = 'created' WHERE id = 'pay_3'",
      "INSERT INTO payment_events (rail, id, type, payment_id, received_at) VALUES ('stripe', 'evt_1', 'x', 'pay_3', now() - interval '2 hours')",
    ],
    () => ["DELETE FROM payment_events WHERE id = 'evt_1'", "DELETE FROM payments WHERE id = 'pay_3'"],
    ['every event of a rail is applied within an hour'],
  ],
  'an invoice is missing from its series': [
    () => [
      "INSERT INTO invoice_series VALUES ('me', 'INV-', 3)",
      ...[1, 3].map(
        (number) => `
        INSERT INTO invoices (id, account_id, payment_id, position, kind, issuer, prefix, number, amount_pico, document, issued_at)
        VALUES ('inv_${number}', '${account}', 'pay_none', ${number}, 'invoice', 'me', 'INV-', ${number}, 1, '{}', now())`,
      ),
    ],
    () => ['DELETE FROM invoices', 'DELETE FROM invoice_series'],
    ['numbers of invoices have no gaps'],
  ],
  'a call payment has no posting, and settles another amount than was signed': [
    () => [callPayment('chatcmpl_x', 'settled', 2_000_000)],
    () => ["DELETE FROM call_payments WHERE call_id = 'chatcmpl_x'"],
    [
      PAID_BY_CALL,
      'no failed call is settled, and what is settled has its call',
      'a call payment settles the amount that was quoted and signed',
    ],
  ],
  'it is not known whether a call was paid': [
    () => [callPayment('chatcmpl_y', 'unproven')],
    () => ["DELETE FROM call_payments WHERE call_id = 'chatcmpl_y'"],
    [
      PAID_BY_CALL,
      'no failed call is settled, and what is settled has its call',
      'every call payment is proven or refuted',
    ],
  ],
  'the rail of call payments moves for another account': [
    () => [
      transaction('move', 'call_payment', account),
      entry('move', 'call_payment', 'rail:x402', -7),
      entry('move', 'call_payment', `customer:${account}`, 7),
    ],
    () => [noEntry('move', 'rail:x402'), noEntry('move', `customer:${account}`), noTransaction('move')],
    [PAID_BY_CALL, 'the rail of call payments moves by them alone, for their account', BALANCE],
  ],
  'a call without a key has no payment': [
    (call) => [callSet(call, "account_id = 'acct_x402', written_xact = written_xact()")],
    (call) => [callSet(call, `account_id = '${account}', written_xact = written_xact()`)],
    [
      CAPTURED,
      'every call belongs to an account',
      'a call without a key has one payment, which covers what it held',
    ],
  ],
}

/** Damage that no new row shows. */
const OLD_DAMAGE: typeof NEW_DAMAGE = {
  'proven entries are changed': [
    (call) => [
      `UPDATE ledger_entries SET amount_pico = amount_pico + 5 WHERE transaction_id = '${call}' AND ledger_account = 'revenue'`,
      `UPDATE ledger_entries SET amount_pico = amount_pico - 5 WHERE transaction_id = '${call}' AND ledger_account <> 'revenue'`,
    ],
    (call) => [
      `UPDATE ledger_entries SET amount_pico = amount_pico - 5 WHERE transaction_id = '${call}' AND ledger_account = 'revenue'`,
      `UPDATE ledger_entries SET amount_pico = amount_pico + 5 WHERE transaction_id = '${call}' AND ledger_account <> 'revenue'`,
    ],
    [CAPTURED, BALANCE, 'the proven sum of a ledger account is the sum of all its entries'],
  ],
  'a transaction has no entries': [
    () => [transaction('empty', 'capture', account)],
    () => [noTransaction('empty')],
    ['every ledger transaction has entries'],
  ],
  'a proven record is changed without its triggers': [
    (call) => [callSet(call, 'prompt_tokens = 11')],
    (call) => [callSet(call, 'prompt_tokens = 10')],
    [PRICED],
  ],
}

describe('the audit of what is new', () => {
  test.each(Object.entries(NEW_DAMAGE))(
    'and the full one find that %s',
    async (_, [breaks, mends, names]) => {
      const call = await proven()
      await damage(...breaks(call))
      expect((await failing()).toSorted()).toEqual(names.toSorted())
      expect((await failing('full')).toSorted()).toEqual(names.toSorted())
      await damage(...mends(call))
      // The sums proven with what is gone are corrected by the full audit, which says so once.
      await failing('full')
    },
  )

  test.each(Object.entries(OLD_DAMAGE))(
    'does not see that %s, the full one does',
    async (_, [breaks, mends, names]) => {
      const call = await proven()
      await damage(...breaks(call))
      expect(await failing()).toEqual([])
      expect((await failing('full')).toSorted()).toEqual(names.toSorted())
      expect((await failing()).toSorted(), 'the next one repeats it').toEqual(names.toSorted())
      await damage(...mends(call))
      await failing('full')
    },
  )

  test('finds new damage again until it is mended, and nothing once it is', async () => {
    const [breaks, mends, names] = NEW_DAMAGE['an entry is added to a proven transaction']!
    const call = await proven()
    await damage(...breaks(call))
    for (const _ of ['first', 'repeated']) expect((await failing()).toSorted()).toEqual(names.toSorted())
    await damage(...mends(call))
    await failing('full')
    expect(await failing('full')).toEqual([])
    expect(await failing()).toEqual([])
  })

  test('reads nothing twice, and counts what is new', async () => {
    await failing()
    await settled()
    await settled()
    const { metrics, isFull } = await auditLedger(ledger.postgres)
    expect({ metrics, isFull }).toMatchObject({
      metrics: { newCalls: 2n, newLedgerEntries: 4n },
      isFull: false,
    })
    expect((await auditLedger(ledger.postgres)).metrics).toMatchObject({ newCalls: 0n, newLedgerEntries: 0n })
  })

  test('sees a row whose transaction commits after later ones were proven', async () => {
    const other = createPostgres({ databaseUrl: ledger.url, name: 'late', poolSize: 1 })
    const late = newCallId(1)
    await failing()
    await other.$transaction(async (transaction) => {
      await transaction.$executeRawUnsafe('SET LOCAL session_replication_role = replica')
      await transaction.$executeRawUnsafe(entry(late, 'capture', 'revenue', 7))
      await settled()
      expect(await failing()).toEqual([])
      await settled()
      expect(await failing()).toEqual([])
    })
    expect(await failing()).toContain(ROOTED)
    await damage(noEntry(late, 'revenue'))
    await failing('full')
    expect(await failing('full')).toEqual([])
    await other.$disconnect()
  })

  test('proves what is new while a transaction of another database is in progress', async () => {
    const url = new URL(ledger.url)
    url.pathname = '/postgres'
    const other = createPostgres({ databaseUrl: url.href, name: 'other', poolSize: 1 })
    await other.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT pg_current_xact_id()::text`
      await settled()
      const { metrics } = await auditLedger(ledger.postgres)
      expect(metrics.newCalls).toBeGreaterThan(0n)
      await settled()
      expect((await auditLedger(ledger.postgres)).metrics.newCalls).toBe(1n)
    })
    await other.$disconnect()
  })

  test('compares balances with the entries that no audit has proven yet', async () => {
    const other = createPostgres({ databaseUrl: ledger.url, name: 'open', poolSize: 1 })
    await other.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT pg_current_xact_id()::text`
      for (let round = 0; round < 3; round += 1) {
        await settled()
        expect(await failing()).toEqual([])
      }
      await damage(`UPDATE accounts SET balance_pico = balance_pico + 1 WHERE id = '${account}'`)
      expect(await failing()).toEqual([BALANCE])
    })
    await damage(`UPDATE accounts SET balance_pico = balance_pico - 1 WHERE id = '${account}'`)
    expect(await failing()).toEqual([])
    await other.$disconnect()
  })

  test('reports a transaction that stays in progress', async () => {
    const other = createPostgres({ databaseUrl: ledger.url, name: 'open', poolSize: 1 })
    await other.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT pg_current_xact_id()::text`
      await failing()
      await ledger.postgres.$executeRaw`UPDATE audit_point SET seen_at = now() - interval '2 hours'`
      expect(await failing()).toEqual(['the audit has reached what was written an hour ago'])
    })
    expect(await failing()).toEqual([])
    await other.$disconnect()
  })

  test('an audit stops at a step with more discrepancies than it keeps, and resumes once they are mended', async () => {
    await proven()
    const records = `
      SELECT 'chatcmpl_many_' || n, 'acct_none', 'key', 'request', 'failed', 'model', false, 0, 0, 'none', false, 0, 0, '[]', 0, 0
      FROM generate_series(1, 501) AS n`
    await damage(`
      INSERT INTO call_records (id, account_id, key_id, request_id, status, requested_model, stream, prompt_tokens,
        completion_tokens, usage_source, usage_clamped, hold_pico, charge_pico, attempts, admitted_at_ms, finished_at_ms)
      ${records}`)
    const names = ['every call belongs to an account', 'the audit has reached what was written an hour ago']
    expect(await failing()).toEqual(names)
    expect(await failing()).toEqual(names)
    await damage("DELETE FROM call_records WHERE id LIKE 'chatcmpl_many_%'")
    expect(await failing()).toEqual([])
  })

  test('proves a backlog in several steps, a full audit as well', async () => {
    const calls = (from: number, to: number) => `
      INSERT INTO call_records (id, account_id, key_id, request_id, status, requested_model, stream, prompt_tokens,
        completion_tokens, usage_source, usage_clamped, hold_pico, charge_pico, attempts, admitted_at_ms, finished_at_ms)
      SELECT 'chatcmpl_bulk_' || n, '${account}', 'key', 'request', 'failed', 'model', false, 0, 0, 'none', false, 0, 0, '[]', 0, 0
      FROM generate_series(${from}, ${to}) AS n`
    await failing()
    for (const from of [1, 15_001]) await damage(calls(from, from + 14_999))
    await damage(callSet('chatcmpl_bulk_29000', 'is_byok = true, prompt_cost_pico = 1, provider_key_id = 1'))
    const ours = "a call on the client's own provider key costs us nothing"
    const { metrics, checks } = await auditLedger(ledger.postgres)
    expect(metrics.newCalls).toBe(30_000n)
    expect(namesOf(checks)).toEqual([ours])
    const full = await auditLedger(ledger.postgres, { reach: 'full' })
    expect(full.metrics).toMatchObject({
      calls: BigInt(await ledger.postgres.callRecord.count()),
      ledgerTransactions: BigInt(await ledger.postgres.ledgerTransaction.count()),
    })
    await damage("DELETE FROM call_records WHERE id LIKE 'chatcmpl_bulk_%'")
    expect(await failing()).toEqual([])
  })
})

describe('a full audit', () => {
  test('is resumed where it was cut off, and counts what is written meanwhile once', async () => {
    await proven()
    await ledger.postgres.$executeRaw`
      UPDATE audit_point SET recount = recount + 1, recount_xact = proven_xact, recount_after = ''`
    await settled()
    expect(await failing()).toEqual([])
    await settled()
    const { isFull, checks } = await auditLedger(ledger.postgres, { reach: 'scheduled' })
    expect({ isFull, failed: checks.filter(({ broken }) => broken > 0) }).toEqual({
      isFull: true,
      failed: [],
    })
  })

  test('is scheduled a week after the last one', async () => {
    expect((await auditLedger(ledger.postgres, { reach: 'full' })).isFull).toBe(true)
    const auditIn = (ms: number) =>
      auditLedger(ledger.postgres, { reach: 'scheduled', clock: () => Date.now() + ms })
    expect((await auditIn(6 * 86_400_000)).isFull).toBe(false)
    expect((await auditIn(7 * 86_400_000)).isFull).toBe(true)
  })

  test('follows where the database was restored into a server with lower ids of transactions', async () => {
    await settled()
    const { postgres } = ledger
    // As in a dump: the rows have the ids of the former server, and the point names it.
    await damage(
      'UPDATE ledger_entries SET written_xact = written_xact + 1000000000',
      'UPDATE call_records SET written_xact = written_xact + 1000000000',
      "UPDATE audit_point SET system_identifier = 'former', proven_xact = proven_xact + 1000000000",
    )
    const call = await settled()
    expect((await auditLedger(postgres)).isFull).toBe(true)
    await damage(callSet(call, 'charge_pico = 49, written_xact = written_xact()'))
    expect(await failing()).toEqual([CAPTURED, PRICED])
    await damage(callSet(call, 'charge_pico = 50, written_xact = written_xact()'))
    await settled()
    const { isFull, metrics, checks } = await auditLedger(postgres)
    expect({ isFull, metrics, failed: checks.filter(({ broken }) => broken > 0) }).toMatchObject({
      ...{ isFull: false, metrics: { newCalls: 2n, newLedgerEntries: 2n }, failed: [] },
    })
    expect(await failing('full')).toEqual([])
  })
})
