import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ulid } from 'ulid'
import { beforeAll, describe, expect, test } from 'vitest'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { admin } from '../../src/cli/admin.ts'
import { audit } from '../../src/cli/audit.ts'
import { type CommandResult, runCommand } from '../../src/cli/run-command.ts'
import { trace } from '../../src/cli/trace.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import { type CallId, newRequestId, responseIdOf } from '../../src/core/kernel/ids.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'
import { accountKeys, KEYS_CHANNEL } from '../../src/platform/redis/redis-keys.ts'
import { lostSettlementOf, settlementOf } from '../helpers/billing.ts'
import { openHold } from '../helpers/open-hold.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'
import { spawnCommand } from '../helpers/spawn-command.ts'

const COMMANDS = { admin, audit, trace }

describe("the operator's commands", () => {
  let redis: Redis

  const ledger = testLedger()
  const server = testRedis()
  beforeAll(() => {
    redis = server.connect('fail-fast')
  })

  const environment = () => ({
    DATABASE_URL: ledger.url,
    REDIS_URL: server.url,
    MASTER_KEY: '11'.repeat(32),
  })
  const run = (command: keyof typeof COMMANDS, ...args: string[]): Promise<CommandResult> =>
    runCommand(COMMANDS[command], args, environment())
  /** Runs the command as operators do, in a process of its own. */
  const spawned = (command: keyof typeof COMMANDS, ...args: string[]): Promise<CommandResult> =>
    spawnCommand(command, args, environment())
  // biome-ignore lint/suspicious/noExplicitAny: whatever a command prints
  const json = async (command: keyof typeof COMMANDS, ...args: string[]): Promise<any> => {
    const { code, out, err } = await run(command, ...args, '--json')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    return JSON.parse(out)
  }
  let emails = 0
  const newAccount = async (): Promise<string> => {
    emails += 1
    const { account_id } = await json(
      'admin',
      'account',
      'create',
      '--email',
      `a${emails}@x.test`,
      '--credit',
      '5.00',
    )
    return account_id
  }

  test('run as processes, they print one JSON document or plain text, and exit 0, 1 or 2', async () => {
    const [wrong, failed, audited] = await Promise.all([
      spawned('admin', 'account', 'explode'),
      spawned('trace', 'chatcmpl_nothing', '--json'),
      spawned('audit', '--json'),
    ])
    expect(wrong).toEqual({
      code: 2,
      out: '',
      err: expect.stringContaining('there is no command "account explode"'),
    })
    expect({ ...failed, out: JSON.parse(failed.out) }).toEqual({
      code: 1,
      out: { error: expect.stringContaining('chatcmpl_nothing') },
      err: '',
    })
    expect({ ...audited, out: JSON.parse(audited.out).ok }).toEqual({ code: 0, out: true, err: '' })
    const account = await newAccount()
    const shown = await run('admin', 'account', 'show', account)
    expect(shown).toEqual({ code: 0, out: expect.stringContaining(account), err: '' })
  })

  test('an account starts with the credit it is given, or else the free credit', async () => {
    const paid = await json('admin', 'account', 'create', '--email', 'paid@x.test', '--credit', '5.00')
    expect(paid).toMatchObject({
      account_id: expect.stringMatching(/^acct_/),
      balance_usd: '5.00',
      state: 'active',
    })
    const free = await json('admin', 'account', 'create', '--email', 'free@x.test')
    expect(free).toMatchObject({ balance_usd: '0.50', state: 'free_credit' })
    expect(await json('admin', 'account', 'show', free.account_id)).toMatchObject({
      email: 'free@x.test',
      available_usd: '0.50',
      held_usd: '0.00',
    })
  })

  test('accounts are listed newest first, by a part of their email, and no more than asked for', async () => {
    for (const name of ['zoe', 'zora'])
      await json('admin', 'account', 'create', '--email', `${name}@z.example`)
    const listed = async (...args: string[]) => {
      const { accounts, has_more } = await json('admin', 'account', 'list', ...args)
      return { emails: accounts.map(({ email }: { email: string }) => email), has_more }
    }
    expect(await listed('@Z.example')).toEqual({
      emails: ['zora@z.example', 'zoe@z.example'],
      has_more: false,
    })
    expect(await listed('@z.example', '--limit', '1')).toEqual({ emails: ['zora@z.example'], has_more: true })
    expect(await listed('nobody')).toEqual({ emails: [], has_more: false })
  })

  test('a typo costs one line that names the commands there are', async () => {
    const known = 'account create, account list, account show'
    const { code, out, err } = await run('admin', 'account', 'lits')
    expect({ code, out, lines: err.trim().split('\n').length }).toEqual({ code: 2, out: '', lines: 1 })
    expect(err).toContain(`there is no command "account lits". Known: ${known}`)
    expect((await run('admin', 'acount', 'list')).err).toMatch(/Known: account, key, operator, admin-key, /)
  })

  test('a credit can be spent at once, and counts once under one reference', async () => {
    const account = await newAccount()
    await createHoldStore(redis).load(account, { balancePico: 5_000_000_000_000n, version: 1n })
    for (let times = 0; times < 2; times += 1) {
      expect(
        await json(
          'admin',
          'account',
          'credit',
          account,
          '--amount',
          '1.25',
          '--reference',
          `invoice-${account}`,
        ),
      ).toMatchObject({ balance_usd: '6.25', spendable_now: true })
    }
    expect(await createHoldStore(redis).balance(account)).toMatchObject({ availPico: 6_250_000_000_000n })
  })

  test('what was credited by mistake is taken back by an entry of its own, up to what is available', async () => {
    const accountId = await newAccount()
    const adjust = (amount: string) =>
      ['account', 'adjust', accountId, '--amount', amount, '--reason', 'credited twice'] as const
    expect(await json('admin', ...adjust('-1.00'), '--reference', 'TICKET-1')).toMatchObject({
      adjusted_usd: '-1.00',
      spendable_now: true,
    })
    expect(await json('admin', 'account', 'show', accountId)).toMatchObject({ balance_usd: '4.00' })
    const refused = await run('admin', ...adjust('-1000'))
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('is available') })
  })

  test('a key is shown once, listed without its secret, and its revocation is announced', async () => {
    const account = await newAccount()
    const created = await json(
      ...(['admin', 'key', 'create', '--account', account, '--name', 'ci'] as const),
      ...['--limit', '1.00', '--limit-reset', 'daily', '--expires', '2099-01-01', '--rpm', '60'],
    )
    expect(created).toMatchObject({
      key_id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^sk-sy-[0-9A-Za-z]{49}$/),
      limit_usd: '1.00',
      limit_reset: 'daily',
      requests_per_minute: 60,
    })
    const { out } = await run('admin', 'key', 'list', '--account', account, '--json')
    expect(out).not.toContain(created.key)
    expect(JSON.parse(out).keys).toEqual([
      expect.objectContaining({ key_id: created.key_id, state: 'active' }),
    ])

    const subscriber = redis.duplicate()
    await subscriber.subscribe(KEYS_CHANNEL)
    const announced = new Promise<string>((resolve) =>
      subscriber.once('message', (_, message) => resolve(message)),
    )
    expect(await json('admin', 'key', 'revoke', created.key_id)).toMatchObject({ state: 'revoked' })
    expect(JSON.parse(await announced)).toMatchObject({ change: { keyId: created.key_id } })
    subscriber.disconnect()
  })

  test('an admin key belongs to no account, and without an operator to an admin of its name', async () => {
    const first = await json('admin', 'admin-key', 'create')
    expect(first).toMatchObject({
      account_id: null,
      kind: 'admin',
      key: expect.stringMatching(/^sk-sy-admin-/),
      operator_name: 'Admin',
      role: 'admin',
    })
    const second = await json('admin', 'admin-key', 'create')
    expect(second.operator_id).toBe(first.operator_id)
    const third = await json('admin', 'admin-key', 'create', '--name', 'deploy')
    expect(third).toMatchObject({ operator_name: 'deploy', role: 'admin' })
    expect(await json('admin', 'admin-key', 'list', '--operator', 'deploy')).toMatchObject({
      admin_keys: [{ key_id: third.key_id, operator_id: third.operator_id }],
    })
  })

  test('the last admin stays one', async () => {
    const [{ operator_id: id }] = (
      (await json('admin', 'operator', 'list')) as unknown as { operators: Array<{ operator_id: string }> }
    ).operators as [{ operator_id: string }]
    await json('admin', 'operator', 'disable', 'deploy')
    for (const args of [
      ['operator', 'disable', id],
      ['operator', 'role', id, '--role', 'viewer'],
    ])
      expect(await run('admin', ...args)).toMatchObject({ code: 1, err: expect.stringMatching(/last admin/) })
    expect(await json('admin', 'operator', 'list')).toMatchObject({
      operators: [{ name: 'Admin', role: 'admin', state: 'active' }, { state: 'disabled' }],
    })
  })

  test.each<[string[], number]>([
    [['account', 'show', 'nobody@x.test'], 1],
    [['key', 'revoke', 'key_nobody'], 1],
    [['account', 'create', '--email', 'nonsense'], 2],
    [['account', 'create', '--email', 'b@x.test', '--credit', '-1'], 2],
    [['account', 'create', '--email', 'b@x.test', '--credit', '1.0000000000001'], 2],
    [['key', 'create', '--account', 'free@x.test', '--rpm', '0'], 2],
    [['key', 'create', '--account', 'free@x.test', '--expires', '2001-01-01'], 2],
    [['account', 'explode'], 2],
    [['account', 'show', 'free@x.test', '--colour'], 2],
  ])('%j fails with exit code %i and says why as JSON', async (args, code) => {
    const outcome = await run('admin', ...args, '--json')
    expect(outcome.code).toBe(code)
    expect(JSON.parse(outcome.out)).toEqual({ error: expect.stringMatching(/./) })
  })

  test('a request id is looked for in the last 31 days, or in as many as asked for', async () => {
    const account = await newAccount()
    const id = `chatcmpl_${ulid(Date.now() - 40 * 86_400_000)}` as CallId
    const requestId = `request-of-${account}`
    await createSettlementStore(ledger.postgres).settle([settlementOf(account, { id, requestId })])
    expect(await json('trace', id)).toMatchObject({ id })
    const unknown = await run('trace', requestId, '--json')
    expect({ code: unknown.code, ...JSON.parse(unknown.out) }).toEqual({
      code: 1,
      error: expect.stringContaining('by request id: in 31 days'),
    })
    expect(await json('trace', requestId, '--days', '60')).toMatchObject({ id })

    // An id of the gateway's own names its time, so no day is read for it.
    const made = newRequestId(Date.now() - 40 * 86_400_000)
    const call = `chatcmpl_${ulid(Date.now() - 40 * 86_400_000)}` as CallId
    await createSettlementStore(ledger.postgres).settle([
      settlementOf(account, { id: call, requestId: made }),
    ])
    expect(await json('trace', made)).toMatchObject({ id: call })
    const absent = await run('trace', newRequestId(Date.now() - 40 * 86_400_000), '--json')
    expect(JSON.parse(absent.out).error).toContain('others with --days')
  })

  test('the timeline of a settled call can be traced by its id, that of its response and its request id', async () => {
    const account = await newAccount()
    const call = settlementOf(account, { requestId: `request-of-${account}` })
    await createSettlementStore(ledger.postgres).settle([call])
    for (const id of [call.id, call.requestId, responseIdOf(call.id)]) {
      const trace = await json('trace', id)
      expect(trace).toMatchObject({ id: call.id, status: 'completed', charged_usd: '0.00000000005' })
      expect(trace.timeline.map((event: { event: string }) => event.event.split(',')[0])).toEqual([
        'admitted',
        'claimed by a worker',
        'attempt at acme/large-1',
        'first token',
        'attempt at acme/large-1: ok (HTTP 200)',
        'finished: completed',
        'settled',
      ])
    }
    expect((await run('trace', 'chatcmpl_nothing')).code).toBe(1)
  })

  test('the audit is green, and red on any discrepancy', async () => {
    expect(await json('audit')).toMatchObject({ ok: true, discrepancies: [] })

    const account = await newAccount()
    await createHoldStore(redis).load(account, { balancePico: 5_000_000_000_000n, version: 1n })
    await json('admin', 'account', 'credit', account, '--amount', '1')
    const drifted = await newAccount()
    await createHoldStore(redis).load(drifted, { balancePico: 5_000_000_000_000n, version: 1n })
    await redis.hincrby(accountKeys(drifted).record, 'avail', 1)
    await openHold(redis, account, 'chatcmpl_01J00000000000000000000000', 7n)
    await ledger.postgres.$executeRawUnsafe(
      'UPDATE accounts SET balance_pico = balance_pico + 1 WHERE id = $1',
      account,
    )
    const wrong = settlementOf(account, { chargePico: '51' })
    await createSettlementStore(ledger.postgres).settle([wrong, settlementOf(account, { chargePico: '500' })])

    const { code, out } = await run('audit', '--json')
    expect(code).toBe(1)
    const report = JSON.parse(out)
    const found = report.discrepancies.map(({ check }: { check: string }) => check)
    expect(new Set(found)).toEqual(
      new Set([
        "an account's balance is the sum of its entries",
        "the totals of an account's entries are its balance, and balance",
        'a charge is tokens times rates, and a failed call or a duplicate costs nothing',
        'no settlement is in quarantine',
        'every balance cache is the ledger balance less its open holds, and not below zero',
        'every settlement has reached the balance cache',
        'every hold belongs to a call that is queued, running or settling',
      ]),
    )
    expect(report.figures).toMatchObject({ open_holds: 1, lost_holds: 1, held_usd: '0.000000000007' })
  })

  test('what a provider billed for a call that left no record is more than the tolerance', async () => {
    const accountId = await newAccount()
    const admittedAt = Date.parse('2026-01-31T12:00:00Z')
    const served = (upstream: string): SettlementRecord => {
      const record = settlementOf(accountId, { id: `chatcmpl_${ulid(admittedAt)}`, admittedAt })
      return { ...record, served: { ...record.served!, offerId: `billing/${upstream}` } }
    }
    const failed = {
      ...served('one').attempts[0]!,
      ...{ offerId: 'billing/one', outcome: 'server_error' as const },
      spent: { promptTokens: 4, completionTokens: 1, costPico: '5' },
    }
    await createSettlementStore(ledger.postgres).settle([
      { ...served('one'), attempts: [failed, ...served('one').attempts] },
      served('two'),
    ])
    const file = join(await mkdtemp(join(tmpdir(), 'shuntyard-usage-')), 'usage.csv')
    const bill = (ofTwo: number) =>
      writeFile(
        file,
        `day,provider,model,prompt_tokens,completion_tokens
2026-01-31,billing,one,14,21
2026-01-31,billing,two,${ofTwo},20
`,
      )
    await bill(10)
    expect(await json('admin', 'provider-usage', 'compare', file)).toMatchObject({
      ok: true,
      usage: [
        {
          offer: 'billing/one',
          difference_percent: 0,
          recorded: { prompt_tokens: 14, completion_tokens: 21 },
        },
        { offer: 'billing/two', difference_percent: 0, recorded: { cost_usd: '0.00000000003' } },
      ],
    })
    // A second call of this offer was billed, and is on record nowhere.
    await bill(20)
    const { code, out } = await run('admin', 'provider-usage', 'compare', file, '--json')
    expect({ code, report: JSON.parse(out) }).toMatchObject({
      code: 1,
      report: { ok: false, beyond_tolerance: 1, usage: [{}, { difference_percent: 50 }] },
    })
    const tolerant = ['provider-usage', 'compare', file, '--tolerance', '60']
    expect(await json('admin', ...tolerant)).toMatchObject({ ok: true, tolerance_percent: 60 })

    const imported = async (ofTwo: number) => {
      await bill(ofTwo)
      return json('admin', 'provider-usage', 'import', file)
    }
    expect(await imported(20)).toMatchObject({ ok: false, beyond_tolerance: 1 })
    const listed = () => json('admin', 'provider-usage', 'list')
    expect(await listed()).toMatchObject({
      beyond_tolerance: 1,
      usage: [
        { day: '2026-01-31', offer: 'billing/two', difference_percent: 50, billed: { prompt_tokens: 20 } },
        {
          offer: 'billing/one',
          difference_percent: 0,
          recorded: { prompt_tokens: 14, completion_tokens: 21 },
        },
      ],
    })
    // A corrected bill replaces the one before.
    await imported(10)
    expect(await listed()).toMatchObject({
      ok: true,
      usage: [{ offer: 'billing/one' }, { offer: 'billing/two' }],
    })
    await writeFile(file, 'day,provider,model,cost_usd\n2026-01-31,other,one,1\n2026-01-30,billing,one,1\n')
    await json('admin', 'provider-usage', 'import', file)
    const { usage } = await listed()
    expect(usage.map(({ day, offer }: { day: string; offer: string }) => `${day} ${offer}`)).toEqual([
      '2026-01-31 other/one',
      '2026-01-31 billing/one',
      '2026-01-31 billing/two',
      '2026-01-30 billing/one',
    ])
  })

  test('a call with two records that differ is listed until somebody closes it, and says why', async () => {
    const accountId = await newAccount()
    const served = settlementOf(accountId)
    const store = createSettlementStore(ledger.postgres)
    await store.settle([lostSettlementOf(accountId, { id: served.id })])
    await store.settle([served])
    const { conflicts } = await json('admin', 'conflict', 'list')
    expect(conflicts).toMatchObject([
      { call_id: served.id, status: 'completed', set_aside: [{ error_code: 'internal_error' }] },
    ])
    expect((await run('admin', 'conflict', 'close', served.id)).code).not.toBe(0)
    const close = ['conflict', 'close', served.id, '--reason', 'credited by adjustment 1']
    expect(await json('admin', ...close)).toMatchObject({ closed: true })
    expect((await json('admin', 'conflict', 'list')).conflicts).toEqual([])
  })

  test('a quarantined settlement that names no call is listed until it is waived', async () => {
    const { id: _, ...unnamed } = settlementOf(await newAccount())
    const { quarantined } = await createSettlementStore(ledger.postgres).settle([unnamed as SettlementRecord])
    const id = quarantined[0]!.callId
    const listed = async () =>
      (await json('admin', 'quarantine', 'list')).quarantined.map(
        (settlement: { call_id: string }) => settlement.call_id,
      )
    expect(await listed()).toContain(id)
    expect((await run('admin', 'quarantine', 'retry', id)).code).toBe(1)
    expect(await json('admin', 'quarantine', 'waive', id)).toMatchObject({ closed: true })
    expect(await listed()).not.toContain(id)
  })

  test('a quarantined settlement can be waived', async () => {
    const account = await newAccount()
    const call = settlementOf(account, { chargePico: '500' })
    await createSettlementStore(ledger.postgres).settle([call])
    const { quarantined } = await json('admin', 'quarantine', 'list')
    expect(quarantined.map((settlement: { call_id: string }) => settlement.call_id)).toContain(call.id)
    expect((await run('admin', 'quarantine', 'retry', call.id)).code).toBe(1)
    expect(await json('admin', 'quarantine', 'waive', call.id)).toMatchObject({ settled: true })
    expect(await json('admin', 'account', 'show', account)).toMatchObject({ balance_usd: '5.00' })
  })
})
