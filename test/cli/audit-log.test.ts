import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { ADMIN_COMMANDS, admin } from '../../src/cli/admin.ts'
import { catalog } from '../../src/cli/catalog.ts'
import { type Command, runCommand } from '../../src/cli/run-command.ts'
import { lostSettlementOf, openTestAccount, settlementOf } from '../helpers/billing.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

/** Commands that read and change nothing. */
const READING = /^[\w-]+ (list|show|deliveries|days|compare)$/

/** Waits for a worker to deliver, so it has its own test in admin-webhooks.test.ts. */
const ELSEWHERE = ['webhook test']

describe('the audit log of commands', () => {
  let folder: string
  const audited = new Set<string>()

  const ledger = testLedger()
  const server = testRedis()
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-log-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  const run = async (command: Command, ...args: string[]) => {
    const { code, out } = await runCommand(command, [...args, '--json'], {
      DATABASE_URL: ledger.url,
      REDIS_URL: server.url,
      MASTER_KEY: '11'.repeat(32),
      PAYMENTS_DEVELOPMENT_RAIL: 'true',
      INIT_CWD: folder,
    })
    return { code, json: JSON.parse(out) as Record<string, string> }
  }
  /** Runs a command that succeeds, and expects one new row of the operating system's user. */
  const expectRow = async (
    command: Command,
    args: string[],
    row: { action: string; target?: string; details?: Record<string, unknown> },
  ): Promise<Record<string, string>> => {
    const before = await ledger.postgres.operatorAction.count()
    const { code, json } = await run(command, ...args)
    expect({ args, code, json }).toMatchObject({ code: 0 })
    const rows = await ledger.postgres.operatorAction.findMany({ orderBy: { id: 'asc' }, skip: before })
    expect(rows).toMatchObject([{ ...row, outcome: 'asked', actor: `cli:${userInfo().username}` }])
    expect(rows[0]?.requestId).toMatch(/^cmd_/)
    const name = [args.slice(0, 1), args.slice(0, 2)]
      .map((words) => words.join(' '))
      .find((words) => Object.hasOwn(ADMIN_COMMANDS, words))
    if (name !== undefined) audited.add(name)
    return json
  }
  const expectAdminRow = (
    words: string,
    action: string,
    target?: string,
    details?: Record<string, unknown>,
  ) =>
    expectRow(admin, words.split(' '), {
      action,
      ...(target !== undefined && { target }),
      ...(details && { details }),
    })

  test('commands that change an account, its password or its keys are recorded with their details', async () => {
    const opened = await expectAdminRow(
      'account create --email a@x.test --credit 5',
      'account.create',
      'a@x.test',
      { credit: 'credit', credit_usd: '5.00' },
    )
    const id = opened.account_id!
    await expectAdminRow(`account credit ${id} --amount 1 --reference bill-1`, 'account.credit', id, {
      amount_usd: '1.00',
      reference: 'bill-1',
    })
    await expectAdminRow(`account adjust ${id} --amount -2 --reason error`, 'account.adjust', id, {
      amount_usd: '-2.00',
      reason: 'error',
      reference: expect.stringMatching(/^evt_/),
    })
    await expectAdminRow(`account alert ${id} --below 3`, 'account.alert', id, { low_balance_usd: '3.00' })
    await expectAdminRow(`account limits ${id} --rpm 7 --concurrency default`, 'account.limits', id, {
      requests_per_minute: 7,
      concurrent_calls: null,
    })
    await expectAdminRow(`account set-password ${id}`, 'account.set-password', id, {})
    await expectAdminRow(`account reset-second-factor ${id}`, 'account.reset-second-factor', id, {})
    await expectAdminRow(`account suspend ${id} --reason fraud?`, 'account.suspend', id, { reason: 'fraud?' })
    await expectAdminRow(`account resume ${id}`, 'account.resume', id, {})
    const key = await expectAdminRow(`key create --account ${id} --name ci --limit 2`, 'key.create', id)
    await expectAdminRow(`key revoke ${key.key_id}`, 'key.revoke', key.key_id)
  })

  test('commands that change operators and their keys are recorded with the name', async () => {
    await expectAdminRow('operator add --name Ann --role admin', 'operator.add')
    const { operator_id: id } = await expectAdminRow(
      'operator add --name Bo --email bo@x.test --role viewer',
      'operator.add',
      undefined,
      { name: 'Bo', email: 'bo@x.test', role: 'viewer' },
    )
    const change = { name: 'Bo', role: 'viewer → support' }
    await expectAdminRow('operator role bo@x.test --role support', 'operator.role', id, change)
    await expectAdminRow('operator disable Bo', 'operator.disable', id, { name: 'Bo' })
    await expectAdminRow('operator enable Bo', 'operator.enable', id, { name: 'Bo' })
    const details = { operator: 'Bo', name: 'laptop', expires_at: null }
    await expectAdminRow('admin-key create --operator Bo --name laptop', 'admin-key.create', id, details)
  })

  test('commands that move money of a top-up are recorded', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const words = `topup create --account ${account} --amount 10 --rail development`
    const { payment_id } = await expectAdminRow(words, 'topup.create', account, {
      amount_usd: '10.00',
      rail: 'development',
    })
    await expectAdminRow(`topup check ${payment_id}`, 'topup.check', payment_id)
    await expectAdminRow(`topup refund ${payment_id} --amount 4`, 'topup.refund', payment_id, {
      amount_usd: '4.00',
    })
    await expectAdminRow('topup reconcile', 'topup.reconcile')
  })

  test('what an operator found out about a payment for one call is recorded', async () => {
    const { callId } = await ledger.postgres.callPayment.create({
      data: {
        callId: 'chatcmpl_unproven',
        network: 'eip155:8453',
        asset: '0xa',
        payer: '0xb',
        nonce: '0xc',
        amountPico: 1_000_000n,
        request: {},
        expiresAt: new Date(0),
        overAt: new Date(0),
        state: 'unproven',
      },
    })
    const words = `call-payment resolve ${callId} --unpaid cancelled`
    await expectAdminRow(words, 'call-payment.resolve', callId, { unpaid: 'cancelled', transaction: null })
  })

  test('commands that change webhook endpoints and BYOK keys are recorded', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const url = 'https://example.com/hook'
    const words = `webhook create --account ${account} --url ${url}`
    const { webhook_id } = await expectAdminRow(words, 'webhook.create', account)
    await expectAdminRow(`webhook enable ${webhook_id}`, 'webhook.enable', webhook_id)
    await expectAdminRow(`webhook rotate-secret ${webhook_id}`, 'webhook.rotate-secret', webhook_id)
    await expectAdminRow(`webhook delete ${webhook_id}`, 'webhook.delete', webhook_id)
    const { id } = await ledger.postgres.providerKey.create({
      data: { id: 'pkey_1', accountId: account, providerId: 'acme', name: '', last4: '', secretSealed: 'x' },
    })
    await expectAdminRow(`provider-key revoke ${id}`, 'provider-key.revoke', id)
    await expectAdminRow('rotate-sealed', 'secrets.rotate')
  })

  test('commands that open and close surfaces are recorded', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const details = { surface: 'embeddings' }
    const opened = await expectAdminRow(
      `surface open embeddings --account ${account}`,
      'surface.open',
      account,
      details,
    )
    const listed = await run(admin, 'surface', 'list', '--account', account)
    expect(listed).toEqual({ code: 0, json: { grants: [opened] } })
    const { json } = await run(admin, 'surface', 'list')
    expect(json.surfaces).toContainEqual({
      surface: 'embeddings',
      operation: 'POST /v1/embeddings',
      status: 'Not release-ready',
      access: 'granted',
      grants: [opened],
    })
    await expectAdminRow(`surface close embeddings --account ${account}`, 'surface.close', account, details)
    const toAll = ['surface open', 'surface close'].map((verb) => `${verb} embeddings --every-account`)
    await expectAdminRow(toAll[0]!, 'surface.open', 'every account', details)
    await expectAdminRow(toAll[1]!, 'surface.close', 'every account', details)
  })

  test('commands that close breakers are recorded', async () => {
    await expectAdminRow('provider enable acme', 'provider.enable', 'acme')
    await expectAdminRow('offer enable acme/large-1', 'offer.enable', 'acme/large-1')
  })

  test('decisions about quarantined and contradicting settlements are recorded', async () => {
    const account = await openTestAccount(ledger.postgres, 1_000n)
    const store = createSettlementStore(ledger.postgres)
    const refused = settlementOf(account, { chargePico: '500' })
    const served = settlementOf(account)
    await store.settle([refused, lostSettlementOf(account, { id: served.id })])
    await store.settle([served])
    expect(await run(admin, 'quarantine', 'retry', refused.id)).toMatchObject({ code: 1 })
    const retried = await ledger.postgres.operatorAction.findMany({
      where: { action: 'quarantine.retry' },
      orderBy: { id: 'asc' },
    })
    expect(retried).toMatchObject([
      { target: refused.id, outcome: 'asked' },
      { target: refused.id, outcome: 'failed', details: { error: 'invalid_request' } },
    ])
    audited.add('quarantine retry')
    await expectAdminRow(`quarantine waive ${refused.id}`, 'quarantine.waive', refused.id)
    await expectAdminRow(`conflict close ${served.id} --reason credited`, 'conflict.close', served.id, {
      reason: 'credited',
    })
  })

  test('catalog edits are recorded, and their author is the same operator', async () => {
    await writeFile(join(folder, 'edits.json'), JSON.stringify({ changes: {} }))
    const { version } = await expectRow(catalog, ['apply', 'edits.json'], {
      action: 'catalog.edit',
      target: 'catalog',
    })
    await expectRow(catalog, ['revert', version!], { action: 'catalog.revert', details: { version } })
    const cost = { input: 1.5, output: 8 }
    const row = {
      litellm_provider: 'openai',
      mode: 'chat',
      input_cost_per_token: 1.5e-6,
      output_cost_per_token: 8e-6,
    }
    await writeFile(join(folder, 'm.json'), JSON.stringify({ openai: { models: { 'gpt-4.1': { cost } } } }))
    await writeFile(join(folder, 'l.json'), JSON.stringify({ 'gpt-4.1': row }))
    await writeFile(join(folder, 'o.json'), JSON.stringify({ data: [] }))
    const lists = ['--models-dev', 'm.json', '--litellm', 'l.json', '--openrouter', 'o.json']
    await expectRow(catalog, ['refresh', ...lists, '--apply'], { action: 'catalog.edit', target: 'catalog' })
    const edits = await ledger.postgres.catalogDocument.findMany({ orderBy: { id: 'asc' } })
    expect(edits.map(({ author }) => author)).toEqual([1, 2, 3].map(() => `cli:${userInfo().username}`))
    expect(edits.at(-1)!.content).toEqual({
      changes: {
        models: [{ id: 'gpt-4.1', list_price: { prompt: '1.5', completion: '8' } }],
        offers: [],
      },
    })
  })

  test('an imported bill of a provider is recorded', async () => {
    const file = join(folder, 'bill.csv')
    await writeFile(file, 'day,provider,model,cost_usd\n2026-01-31,acme,large-1,1\n')
    await expectAdminRow(`provider-usage import ${file}`, 'provider_usage.import', 'acme', {
      offersAndDays: 1,
      from: '2026-01-31',
      to: '2026-01-31',
    })
  })

  test('an archive is recorded, and so is that it was refused', async () => {
    expect(await run(admin, 'archive', '2020-01', '--directory', folder)).toEqual({
      code: 1,
      json: { error: 'the database has no partition of 2020-01' },
    })
    const rows = await ledger.postgres.operatorAction.findMany({
      where: { action: 'calls.archive' },
      orderBy: { id: 'asc' },
    })
    expect(rows).toMatchObject([
      { target: '2020-01', outcome: 'asked', details: { directory: folder } },
      { target: '2020-01', outcome: 'failed' },
    ])
    audited.add('archive')
    expect(await run(admin, 'archive', 'list')).toEqual({ code: 0, json: { months: [] } })
    const { json } = await run(admin, 'archive', 'verify', folder)
    expect(json.error).toMatch(/manifest\.json/)
  })

  test('a command that is called wrongly, or names nothing there is, changes and records nothing', async () => {
    const before = await ledger.postgres.operatorAction.count()
    for (const words of [
      'account create --email nonsense',
      'account credit nobody@x.test --amount 5',
      'account adjust nobody@x.test --amount 5 --reason x',
      'account suspend nobody@x.test',
      'key revoke key_none',
      'surface open embeddings --key key_none',
      'surface open embeddings',
      'topup refund pay_none',
      'call-payment resolve chatcmpl_none --unpaid x',
      'call-payment resolve chatcmpl_unproven',
      'quarantine waive chatcmpl_none',
    ])
      expect((await run(admin, ...words.split(' '))).code, words).not.toBe(0)
    expect(await ledger.postgres.operatorAction.count()).toBe(before)
  })

  test('every command that changes something is covered here', () => {
    const changing = Object.keys(ADMIN_COMMANDS).filter(
      (name) => !READING.test(name) && !ELSEWHERE.includes(name),
    )
    expect(changing.filter((name) => !audited.has(name))).toEqual([])
  })
})
