import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import type {
  AccountLimitsRequest,
  AdjustRequest,
  BalanceChanged,
  CreditRequest,
  ListedAccount,
  OperatorAccount,
  OperatorAccountDetail,
  SuspendRequest,
} from '../../../src/core/api/accounts.ts'
import type { LedgerView, MarginView } from '../../../src/core/api/billing.ts'
import type { CreatedKey, KeyLimitsRequest, OperatorKey } from '../../../src/core/api/keys.ts'
import type {
  AlarmView,
  AuditRunView,
  AuditView,
  OperatorActionView,
} from '../../../src/core/api/operations.ts'
import type { OperatorRefusalsView, RefusalsView } from '../../../src/core/api/refusals.ts'
import type { List, Page } from '../../../src/core/api/shared.ts'
import type { OpenableSurface } from '../../../src/core/api/surfaces/surfaces.ts'
import { formatUsd, parseUsd, picoUsd } from '../../../src/core/kernel/money.ts'
import { accountKeys } from '../../../src/platform/redis/redis-keys.ts'
import { type AdminClient, adminClient } from '../../helpers/admin-client.ts'
import { ask } from '../../helpers/chat-client.ts'
import { signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { organisationOf } from '../../helpers/organisation.ts'
import { testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

let admin: AdminClient
let adminKey: string

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/refused': [{ at: 'beta', model: 'status-401' }],
  },
})
beforeAll(async () => {
  adminKey = await stack.adminKey()
  admin = adminClient(stack, adminKey)
})

const callOf = ({ key }: { key: string }) => ask({ url: stack.url, key }, { model: 'test/plain' })
const actionsOn = async (target: string) =>
  (await admin.get<Page<OperatorActionView>>(`/actions?target=${target}`)).data

describe('accounts', () => {
  test('an account shows its balance, its keys, what it spent, and what operators did to it', async () => {
    const owner = await stack.account('10.00', { name: 'web' })
    await callOf(owner)
    await stack.settled(owner.accountId)
    const account = await admin.get<OperatorAccountDetail>(`/accounts/${owner.accountId}`)
    const { balancePico, email } = await stack.postgres.account.findUniqueOrThrow({
      where: { id: owner.accountId },
    })
    expect(Math.round(Number(account.balance_usd) * 1e12)).toBe(Number(balancePico))
    expect(account).toMatchObject({
      id: owner.accountId,
      email,
      state: 'active',
      available_usd: account.balance_usd,
      held_usd: '0.00',
      owed_usd: '0.00',
      open_holds: 0,
      keys: [{ id: owner.keyId, name: 'web', state: 'active' }],
      spend: [{ calls: 1, day: new Date().toISOString().slice(0, 10) }],
      top_ups: [],
      suspensions: [],
      actions: [],
    })
    expect(JSON.stringify(account)).not.toContain(owner.key)
    const byEmail = await admin.get<OperatorAccountDetail>(`/accounts/${encodeURIComponent(email!)}`)
    expect(byEmail.id).toBe(owner.accountId)
    await expectError(await admin.send('GET', '/accounts/acct_none'), 404, 'not_found')
  })

  test('an organisation is shown with its members, found by its name, and has no password', async () => {
    const { accountId, members } = await organisationOf(stack, ['owner', 'billing'])
    const shown = await admin.get<OperatorAccountDetail>(`/accounts/${accountId}`)
    expect(shown).toMatchObject({
      ...{ is_organisation: true, email: null },
      memberships: [
        { account_id: members.owner.personId, name: members.owner.email, role: 'owner' },
        { account_id: members.billing.personId, name: members.billing.email, role: 'billing' },
      ],
    })
    const found = await admin.get<Page<OperatorAccount>>(`/accounts?search=${encodeURIComponent(shown.name)}`)
    expect(found.data.map(({ id }) => id)).toEqual([accountId])
    const person = await admin.get<OperatorAccountDetail>(`/accounts/${members.billing.personId}`)
    expect(person.memberships).toEqual([{ account_id: accountId, name: shown.name, role: 'billing' }])
    const { code } = await stack.command('admin', 'account', 'set-password', accountId)
    expect(code).not.toBe(0)
  })

  test('accounts are found by a part of the email or the id of a key, and wildcards are but characters', async () => {
    const { accountId, keyId } = await stack.account('1.00')
    const { email } = await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })
    const find = async (search: string) =>
      (await admin.get<Page<OperatorAccount>>(`/accounts?search=${encodeURIComponent(search)}`)).data.map(
        ({ id }) => id,
      )
    expect(await find(email!.slice(2, 12).toUpperCase())).toEqual([accountId])
    expect(await find(accountId)).toEqual([accountId])
    expect(await find(keyId)).toEqual([accountId])
    const listed = async () => (await admin.get<Page<ListedAccount>>(`/accounts?search=${accountId}`)).data[0]
    expect(await listed()).toMatchObject({ spent_usd: '0.00', last_call_at: null })
    const spentPico = 123_456_789_012_345_678n
    const lastCallAtMs = BigInt(Date.parse('2027-01-31T14:03:07Z'))
    await stack.postgres.spendTotal.create({
      data: {
        accountId,
        keyId: '',
        period: 'total',
        chargedCalls: 2n,
        spentPico: String(spentPico),
        lastCallAtMs,
      },
    })
    expect(await listed()).toMatchObject({
      spent_usd: formatUsd(picoUsd(spentPico)),
      last_call_at: expect.stringMatching(/^2027-01-31T14:03:07/),
    })
    expect(await find('%')).toEqual([])
    expect((await find('example.test')).length).toBeGreaterThan(1)
  })

  test('a suspension is announced, stops calls and ends by resuming; both are written down with who and why', async () => {
    const owner = await stack.account('10.00')
    expect((await callOf(owner)).status).toBe(200)
    const suspended = await admin.post<OperatorAccountDetail>(`/accounts/${owner.accountId}/suspend`, {
      reason: 'fraud?',
    } satisfies SuspendRequest)
    expect(suspended.state).toBe('suspended')
    await eventually(async () => expect((await callOf(owner)).errorCode).toBe('account_suspended'))
    await admin.post(`/accounts/${owner.accountId}/resume`, { reason: 'no fraud' })
    await eventually(async () => expect((await callOf(owner)).status).toBe(200))
    const actions = await actionsOn(owner.accountId)
    expect(actions).toMatchObject([
      { action: 'account.resume', details: { reason: 'no fraud' }, outcome: 'asked' },
      { action: 'account.suspend', details: { reason: 'fraud?' }, outcome: 'asked' },
    ])
    const { kind } = await stack.postgres.apiKey.findUniqueOrThrow({
      where: { id: actions[0]?.actor ?? '' },
    })
    expect(kind).toBe('admin')
  })

  test('what lacks a reason or is no amount is refused, and nothing is done or written down', async () => {
    const owner = await stack.account('10.00')
    const at = `/accounts/${owner.accountId}`
    for (const [path, body] of [
      [`${at}/suspend`, {}],
      [`${at}/suspend`, undefined],
      [`${at}/credit`, { amount_usd: 5 }],
      [`${at}/credit`, { amount_usd: '-5.00' }],
      [`${at}/credit`, { amount_usd: '5.00', note: 'x' }],
      [`${at}/credit`, { amount_usd: '5000000' }],
      [`${at}/adjust`, { amount_usd: '1.00' }],
      [`${at}/adjust`, { amount_usd: '0', reason: 'x' }],
    ] as const) {
      await expectError(await admin.send('POST', path, body), 400, 'invalid_request')
    }
    expect(await actionsOn(owner.accountId)).toEqual([])
  })

  test('a reference credits once, and another amount under it is refused', async () => {
    const owner = await stack.account('10.00')
    const credit = (amount: string) =>
      admin.send('POST', `/accounts/${owner.accountId}/credit`, {
        amount_usd: amount,
        reference: 'INVOICE-7',
      } satisfies CreditRequest)
    const first = (await (await credit('5.00')).json()) as BalanceChanged
    expect(first).toMatchObject({ balance_usd: '15.00', reference: 'INVOICE-7', spendable_now: true })
    const second = (await (await credit('5.00')).json()) as BalanceChanged
    expect(second.balance_usd).toBe('15.00')
    await expectError(await credit('6.00'), 409, 'idempotency_conflict')
    const actions = await actionsOn(owner.accountId)
    expect(actions.map(({ outcome }) => outcome)).toEqual(['failed', 'asked', 'asked', 'asked'])
  })

  test('an adjustment is a ledger entry with its reason, and never takes more than is free', async () => {
    const owner = await stack.account('10.00')
    const adjust = (amount: string) =>
      admin.send('POST', `/accounts/${owner.accountId}/adjust`, {
        amount_usd: amount,
        reason: 'credited twice',
      } satisfies AdjustRequest)
    expect(await (await adjust('-4.00')).json()).toMatchObject({ balance_usd: '6.00', posted: true })
    const refusal = await expectError(await adjust('-7.00'), 400, 'invalid_request')
    expect(refusal.message).toContain('6.00 USD is available')
    const notes = await stack.postgres.ledgerNote.findMany({ where: { reason: 'credited twice' } })
    expect(notes).toHaveLength(1)
  })

  test('enabling a provider or an offer by hand is written down', async () => {
    await admin.post('/offers/alpha%2Fwords-12/enable')
    await admin.post('/providers/alpha/enable')
    expect(await actionsOn(encodeURIComponent('alpha/words-12'))).toMatchObject([{ action: 'offer.enable' }])
    expect(await actionsOn('alpha')).toMatchObject([{ action: 'provider.enable' }])
  })

  test('the record of what operators did cannot be changed', async () => {
    await expect(stack.postgres.$executeRawUnsafe('DELETE FROM operator_actions')).rejects.toThrow()
    await expect(
      stack.postgres.$executeRawUnsafe("UPDATE operator_actions SET actor = 'somebody else'"),
    ).rejects.toThrow()
  })
})

describe('keys', () => {
  test('the revocation of a key is announced, and it is refused everywhere', async () => {
    const owner = await stack.account('10.00')
    expect((await callOf(owner)).status).toBe(200)
    const revoked = await admin.post<OperatorKey>(`/keys/${owner.keyId}/revoke`)
    expect(revoked).toMatchObject({ id: owner.keyId, state: 'revoked' })
    await eventually(async () => expect((await callOf(owner)).errorCode).toBe('key_revoked'))
    await expectError(await admin.send('POST', '/keys/key_none/revoke'), 404, 'not_found')
  })

  test('what was refused is counted by reason and key, for operators and for the account, and is no call', async () => {
    const holder = await signedUp(stack.url)
    const made = await holder.json<CreatedKey>('/console/api/keys', { body: { name: 'web' } })
    const owner = { url: stack.url, key: made.secret }
    expect((await callOf(owner)).status).toBe(200)
    for (let time = 0; time < 2; time++)
      expect((await ask(owner, { model: 'no/such' })).errorCode).toBe('model_not_found')
    await admin.post<OperatorKey>(`/keys/${made.key.id}/revoke`)
    await eventually(async () => expect((await callOf(owner)).errorCode).toBe('key_revoked'))
    const { data, starts } = await eventually(async () => {
      const found = await admin.get<OperatorRefusalsView>(`/refusals?account=${holder.email.slice(0, -5)}`)
      expect(found.data.length).toBeGreaterThan(1)
      return found
    })
    const ofKey = { account_name: holder.email, key_id: made.key.id, key_name: 'web' }
    expect(data.find(({ code }) => code === 'model_not_found')).toMatchObject({
      ...ofKey,
      status: 404,
      requests: 2,
    })
    expect(data.find(({ code }) => code === 'key_revoked')).toMatchObject({ ...ofKey, status: 403 })
    for (const { over_time: parts, requests } of data) {
      expect(parts).toHaveLength(starts.length)
      expect(parts.reduce((sum, count) => sum + count, 0)).toBe(requests)
    }
    const own = await holder.json<RefusalsView>('/console/api/usage/refusals')
    expect(own.data).toEqual(data.map(({ account_id: _, account_name: __, ...row }) => row))
    const other = await signedUp(stack.url)
    expect(await other.json('/console/api/usage/refusals')).toMatchObject({ data: [] })
    await expectError(await admin.send('GET', '/refusals?account=example.test'), 409, 'conflict')
  })

  test('a limit that is changed holds for what the key has spent already, and can be lifted', async () => {
    const owner = await stack.account('10.00', { limitPico: parseUsd('1.00') })
    expect((await callOf(owner)).status).toBe(200)
    await stack.settled(owner.accountId)
    const limited = await admin.post<OperatorKey>(`/keys/${owner.keyId}/limits`, { limit_usd: '0.00000001' })
    expect(limited.limit_usd).toBe('0.00000001')
    expect((await callOf(owner)).errorCode).toBe('key_limit_exceeded')
    await admin.post(`/keys/${owner.keyId}/limits`, {
      limit_usd: '2.00',
      operator_requests_per_minute: 5,
    } satisfies KeyLimitsRequest)
    expect((await callOf(owner)).status).toBe(200)
    const lifted = await admin.post<OperatorKey>(`/keys/${owner.keyId}/limits`, { limit_usd: null })
    expect(lifted).toMatchObject({ limit_usd: null, operator_requests_per_minute: 5 })
    await stack.settled(owner.accountId)
    expect((await stack.command('audit')).json).toMatchObject({ ok: true })
    await expectError(await admin.send('POST', `/keys/${owner.keyId}/limits`, {}), 400, 'invalid_request')
  })
})

describe('surfaces', () => {
  test('an account shows which are open to it and to its keys, since when, and who opened them', async () => {
    const { accountId, keyId } = await stack.account('1.00')
    const grants = async () => {
      const { data } = await admin.get<List<OpenableSurface>>(`/accounts/${accountId}/surfaces`)
      return data.flatMap((surface) => surface.grants)
    }
    expect(await grants()).toEqual([])
    await admin.post('/surfaces/embeddings/open', { account: accountId })
    await admin.post('/surfaces/rerank/open', { key_id: keyId })
    const [{ actor } = { actor: '' }] = await actionsOn(accountId)
    const opened = await grants()
    expect(opened).toMatchObject([
      { surface: 'embeddings', account_id: accountId, key_id: null, opened_by: actor },
      { surface: 'rerank', account_id: null, key_id: keyId, opened_by: actor },
    ])
    // Opened again by somebody else, it is still the grant that the first made.
    const other = adminClient(stack, await stack.adminKey())
    await other.post('/surfaces/embeddings/open', { account: accountId })
    expect(await grants()).toEqual(opened)
    await other.post('/surfaces/embeddings/close', { account: accountId })
    await other.post('/surfaces/embeddings/open', { account: accountId })
    const [{ opened_by: second } = { opened_by: null }] = await grants()
    expect(second).toMatch(/^key_/)
    expect(second).not.toBe(actor)
  })
})

describe('limits of an account', () => {
  test('are set, recorded and lifted, and hold for all its keys', async () => {
    const owner = await stack.account('10.00')
    const path = `/accounts/${owner.accountId}/limits`
    const limited = await admin.post<OperatorAccountDetail>(path, {
      requests_per_minute: 1,
    } satisfies AccountLimitsRequest)
    expect(limited).toMatchObject({ requests_per_minute: 1, concurrent_calls: null })
    expect(limited.actions[0]).toMatchObject({
      action: 'account.limits',
      details: { requests_per_minute: 1 },
    })
    await eventually(async () => expect((await callOf(owner)).errorCode).toBe('rate_limit_exceeded'))
    const lifted = await admin.post<OperatorAccountDetail>(path, { requests_per_minute: null })
    expect(lifted).toMatchObject({ requests_per_minute: null })
    await eventually(async () => expect((await callOf(owner)).status).toBe(200))
    await expectError(await admin.send('POST', path, {}), 400, 'invalid_request')
    await expectError(await admin.send('POST', path, { concurrent_calls: 0 }), 400, 'invalid_request')
    await expectError(await admin.send('POST', '/accounts/acct_none/limits', {}), 404, 'not_found')
  })
})

describe('ledger', () => {
  test('the ledger sums to zero, and the margin is what calls earned less what they cost', async () => {
    const [owner, other] = [await stack.account('10.00'), await stack.account('10.00')]
    for (const account of [owner, other]) {
      await callOf(account)
      await stack.settled(account.accountId)
    }
    const ledger = await admin.get<LedgerView>('/ledger')
    expect(ledger.total_usd).toBe('0.00')
    expect(ledger.data.map(({ ledger_account }) => ledger_account)).toEqual(
      expect.arrayContaining(['customers', 'revenue']),
    )
    const revenue = ledger.data.find(({ ledger_account }) => ledger_account === 'revenue')
    for (const group of ['model', 'provider', 'day', 'account']) {
      const margin = await admin.get<MarginView>(`/margin?group_by=${group}`)
      expect(margin.total.revenue_usd).toBe(revenue?.balance_usd)
      const { prompt_tokens: prompt, completion_tokens: completion } = margin.total
      expect(Number(margin.total.revenue_usd)).toBeCloseTo((prompt + 2 * completion) / 1e6, 12)
      expect(Number(margin.total.cost_usd)).toBeCloseTo((prompt + completion) / 2e6, 12)
      const summed = margin.data.reduce((sum, row) => sum + Number(row.margin_usd), 0)
      expect(summed).toBeCloseTo(Number(margin.total.margin_usd), 12)
    }
    const byAccount = await admin.get<MarginView>('/margin?group_by=account')
    const { email } = await stack.postgres.account.findUniqueOrThrow({ where: { id: owner.accountId } })
    expect(byAccount.data.find(({ group }) => group === owner.accountId)).toMatchObject({ name: email })
    const pages: MarginView[] = []
    for (let cursor: string | null = '0'; cursor !== null; cursor = pages.at(-1)!.next_cursor)
      pages.push(await admin.get<MarginView>(`/margin?group_by=account&sort=cost&limit=1&cursor=${cursor}`))
    expect(pages.length).toBe(byAccount.data.length)
    expect(pages.length).toBeGreaterThan(1)
    expect(new Set(pages.flatMap(({ data }) => data.map(({ group }) => group))).size).toBe(pages.length)
    const costs = pages.map(({ data }) => Number(data[0]!.cost_usd))
    expect(costs).toEqual(costs.toSorted((a, b) => b - a))
    expect(pages.at(-1)!.total).toEqual(byAccount.total)
    const byModel = await admin.get<MarginView>('/margin?group_by=model')
    expect(byModel.data[0]?.group).toBe('test/plain')
    const byProvider = await admin.get<MarginView>('/margin?group_by=provider')
    expect(byProvider.data[0]?.group).toBe('alpha')
    const before = await admin.get<MarginView>('/margin?from=2020-01-01&to=2020-01-02')
    expect(before).toMatchObject({ data: [], total: { calls: 0, revenue_usd: '0.00', margin_rate: null } })
  })

  test('an audit that is asked for runs in the settlement process and is kept; one that fails raises an alarm', async () => {
    const owner = await stack.account('10.00')
    await callOf(owner)
    await stack.settled(owner.accountId)
    const next = async (parameters = ''): Promise<AuditRunView> => {
      const { run: last } = await admin.get<AuditView>('/audit/latest')
      const answer = await admin.send('POST', `/audit/run${parameters}`)
      expect(answer.status).toBe(202)
      expect(await answer.json()).toMatchObject({ running: true })
      return eventually(async () => {
        const { run, running } = await admin.get<AuditView>('/audit/latest')
        expect(running).toBe(false)
        expect(run?.id).not.toBe(last?.id)
        return run as AuditRunView
      })
    }
    expect((await admin.send('POST', '/audit/run?full=maybe')).status).toBe(400)
    const sound = await next('?full=true')
    expect(sound).toMatchObject({ ok: true, cause: 'operator', discrepancies: [] })
    expect(sound.figures.ledger_entries_usd).toBe('0.00')
    expect(sound.checks.length).toBeGreaterThan(15)
    expect(await stack.postgres.auditRun.findUnique({ where: { id: sound.id } })).toMatchObject({
      isFull: true,
    })

    // What the archive of a month asks for.
    expect((await stack.command('audit')).code).toBe(0)
    const { run: byCommand } = await admin.get<AuditView>('/audit/latest')
    expect(byCommand).toMatchObject({ ok: true, cause: 'operator' })
    expect(byCommand?.id).not.toBe(sound.id)

    await stack.redis.hincrby(accountKeys(owner.accountId).record, 'avail', 5_000_000)
    const broken = await next()
    expect(broken.ok).toBe(false)
    expect(broken.discrepancies[0]?.subject).toBe(owner.accountId)
    await stack.redis.hincrby(accountKeys(owner.accountId).record, 'avail', -5_000_000)
    await eventually(async () => {
      const { data } = await admin.get<Page<AlarmView>>('/alarms')
      expect(data.map(({ kind }) => kind)).toContain('audit-failed')
    })
    const runs = await admin.get<Page<AuditRunView>>('/audit/runs?limit=1')
    expect(runs).toMatchObject({ has_more: true, data: [{ id: broken.id }] })
  })
})

describe('alarms', () => {
  const open = async (kind: string) =>
    (await admin.get<Page<AlarmView>>('/alarms')).data.filter((alarm) => alarm.kind === kind)

  test('an alarm of a worker is open until somebody acknowledges it, and says nothing of what the provider said', async () => {
    const owner = await stack.account('10.00')
    const refused = () => ask(owner, { model: 'test/refused' })
    expect((await refused()).status).toBeGreaterThanOrEqual(502)
    const [alarm] = await eventually(async () => {
      const found = await open('provider-refused')
      expect(found).toHaveLength(1)
      return found
    })
    expect(alarm).toMatchObject({ acknowledged_at: null, message: expect.stringMatching(/\S/) })
    expect(alarm?.subject).toMatch(/^beta/)
    expect(alarm?.fields).not.toHaveProperty('internal')
    const acknowledged = await admin.post<AlarmView>(`/alarms/${alarm?.id}/acknowledge`)
    expect(acknowledged.acknowledged_by).toMatch(/^key_/)
    expect(await open('provider-refused')).toEqual([])
    await expectError(await admin.send('POST', '/alarms/alarm_none/acknowledge'), 404, 'not_found')
  })
})

test('long JSON comes compressed to those who take it so', async () => {
  for (let made = 0; made < 12; made++) await stack.account('1.00')
  const read = async (encoding: string) => {
    const { body, headers } = await request(`${stack.url}/admin/api/accounts`, {
      headers: { authorization: `Bearer ${adminKey}`, 'accept-encoding': encoding },
    })
    return [headers['content-encoding'], (await body.arrayBuffer()).byteLength] as const
  }
  const [plain, length] = await read('identity')
  const [brotli, compressed] = await read('br')
  expect([plain, brotli]).toEqual([undefined, 'br'])
  expect(compressed).toBeLessThan(length / 2)
})
