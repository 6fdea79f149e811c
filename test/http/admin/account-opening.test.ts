import { describe, expect, test } from 'vitest'
import type {
  AccountInvited,
  AccountOpened,
  NewAccountRequest,
  OperatorAccountDetail,
} from '../../../src/core/api/accounts.ts'
import type { CreatedOperatorKey, OperatorKey } from '../../../src/core/api/keys.ts'
import type { OperatorActionView } from '../../../src/core/api/operations.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import { adminClient } from '../../helpers/admin-client.ts'
import { ask } from '../../helpers/chat-client.ts'
import { consoleClient } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type MailCatcher, startMailCatcher } from '../../helpers/mail-catcher.ts'
import { organisationOf } from '../../helpers/organisation.ts'
import { testOperator, testStack } from '../../helpers/resources.ts'
import { startStack } from '../../helpers/stack.ts'
import { expectError } from '../wire.ts'

const PASSWORD = 'switches and signals'
const MODELS = { 'test/plain': [{ at: 'alpha', model: 'words-12' }] }

const stack = testStack({ models: MODELS })
const admin = testOperator(stack)

const choosePassword = (token: string, url = stack.url) =>
  consoleClient(url).ask('/console/api/password-resets/use', { body: { token, password: PASSWORD } })
const signIn = (email: string, url = stack.url) =>
  consoleClient(url).ask('/console/api/sign-in', { body: { email, password: PASSWORD } })
const actionsOn = async (target: string) =>
  (await admin.get<Page<OperatorActionView>>(`/actions?target=${encodeURIComponent(target)}`)).data.map(
    ({ action, outcome }) => `${action} ${outcome}`,
  )

describe('an account that an operator opens', () => {
  test('starts with its credit and a link to choose a password, which works once', async () => {
    const body: NewAccountRequest = {
      email: 'Ann@Example.test ',
      credit_usd: '12.50',
      reason: 'pilot project',
    }
    const { account, invitation } = await admin.post<AccountOpened>('/accounts', body)
    expect(account).toMatchObject({ email: 'ann@example.test', balance_usd: '12.50', state: 'active' })
    expect(invitation).toMatchObject({ account_id: account.id, mailed: false })
    const [page, token = ''] = invitation.path!.split('#')
    expect(page).toBe('/reset')
    const { expiresAt } = await stack.postgres.emailToken.findFirstOrThrow({
      where: { accountId: account.id },
    })
    expect((expiresAt.getTime() - Date.now()) / 86_400_000).toBeCloseTo(7, 1)
    expect((await choosePassword(token)).status).toBe(200)
    expect((await signIn('ann@example.test')).status).toBe(200)
    await expectError(await choosePassword(token), 400, 'invalid_request')

    const note = await stack.postgres.ledgerNote.findMany({ where: { reason: 'pilot project' } })
    expect(note).toMatchObject([{ kind: 'credit' }])
    expect(await actionsOn(account.id)).toEqual(['account.invite asked', 'account.credit asked'])
    expect(await actionsOn('ann@example.test')).toEqual([
      'account.invite asked',
      'account.credit asked',
      'account.create asked',
    ])
    const log = JSON.stringify(await admin.get('/actions'))
    expect(log).not.toContain(token)
  })

  test('may start with nothing, and be invited again', async () => {
    const { account } = await admin.post<AccountOpened>('/accounts', { email: 'bob@example.test' })
    expect(account).toMatchObject({ balance_usd: '0.00' })
    const again = await admin.post<AccountInvited>(`/accounts/${account.id}/invite`)
    expect((await choosePassword(again.path!.split('#')[1]!)).status).toBe(200)
    expect((await signIn('bob@example.test')).status).toBe(200)
  })

  test('is opened by a link until somebody has it: then operators get neither a link nor a key', async () => {
    const opened = async (email: string) =>
      (await admin.post<AccountOpened>('/accounts', { email })).account.id
    const expectClosed = async (accountId: string) => {
      await expectError(await admin.send('POST', `/accounts/${accountId}/invite`), 409, 'conflict')
      const key = admin.send('POST', `/accounts/${accountId}/keys`, { name: 'theirs' })
      await expectError(await key, 409, 'conflict')
      expect(await admin.get(`/accounts/${accountId}`)).toMatchObject({ has_holder: true, keys: [] })
    }
    const own = await opened('finn@example.test')
    expect(await admin.get(`/accounts/${own}`)).toMatchObject({ has_holder: false })
    const { path } = await admin.post<AccountInvited>(`/accounts/${own}/invite`)
    expect((await choosePassword(path!.split('#')[1]!)).status).toBe(200)
    await expectClosed(own)

    // Whoever signs in by another service has no password.
    const linked = await opened('gina@example.test')
    const identity = { accountId: linked, provider: 'google', subject: 'g-1', email: 'gina@example.test' }
    await stack.postgres.identity.create({ data: identity })
    await expectClosed(linked)
    const { accountId: organisation } = await organisationOf(stack, ['owner'])
    const key = admin.send('POST', `/accounts/${organisation}/keys`, { name: 'theirs' })
    await expectError(await key, 409, 'conflict')
    // The command line is on the server.
    const made = await stack.command('admin', 'key', 'create', '--account', own)
    expect(made).toMatchObject({ code: 0, json: { account_id: own } })
  })

  test('is refused with an email that is taken or none, and with an amount that is none', async () => {
    await expectError(
      await admin.send('POST', '/accounts', { email: 'bob@example.test' }),
      409,
      'email_taken',
    )
    expect(await actionsOn('bob@example.test')).toContain('account.create failed')
    for (const body of [
      { email: 'no address' },
      {},
      { email: 'eve@example.test', credit_usd: '0' },
      { email: 'eve@example.test', credit_usd: '-1' },
      { email: 'eve@example.test', credit_usd: '1.00', reason: '' },
      { email: 'eve@example.test', more: true },
    ])
      await expectError(await admin.send('POST', '/accounts', body), 400, 'invalid_request')
    expect(await stack.postgres.account.count({ where: { email: 'eve@example.test' } })).toBe(0)
    await expectError(await admin.send('POST', '/accounts/nobody/invite'), 404, 'not_found')
  })

  test('the password link of an opened account goes by mail where mail is set up, and is not shown', async () => {
    const catcher: MailCatcher = await startMailCatcher()
    const other = await startStack({
      models: MODELS,
      environment: {
        ...catcher.environment,
        PUBLIC_URL: 'https://gateway.example',
      },
    })
    try {
      const operator = adminClient(other, await other.adminKey())
      const { invitation } = await operator.post<AccountOpened>('/accounts', { email: 'cleo@example.test' })
      expect(invitation).toMatchObject({ mailed: true, path: null })
      const [token = ''] = await catcher.tokens('cleo@example.test', 1, 'reset')
      expect(catcher.received.at(-1)?.content).toContain('Subject: An account was opened for you')
      expect((await choosePassword(token, other.url)).status).toBe(200)
      expect((await signIn('cleo@example.test', other.url)).status).toBe(200)
      // The message goes to the holder, so it may be sent again.
      const { id: accountId } = await other.postgres.account.findUniqueOrThrow({
        where: { email: 'cleo@example.test' },
      })
      const again = await operator.post<AccountInvited>(`/accounts/${accountId}/invite`)
      expect(again).toMatchObject({ mailed: true, path: null })
    } finally {
      await other.close()
      await catcher.close()
    }
  })
})

describe('a key that an operator issues', () => {
  const issue = (accountId: string, body: object = {}) =>
    admin.post<CreatedOperatorKey>(`/accounts/${accountId}/keys`, { name: 'for them', ...body })
  const statusOf = async (key: string) => (await ask({ url: stack.url, key }, { model: 'test/plain' })).status

  test('works with its limits, and its secret is shown once', async () => {
    const { accountId } = await stack.account('1.00')
    const { key, secret } = await issue(accountId, { limit_usd: '5.00', operator_requests_per_minute: 5_000 })
    expect(key).toMatchObject({
      ...{ account_id: accountId, name: 'for them', limit_usd: '5.00', operator_requests_per_minute: 5_000 },
      customer_requests_per_minute: null,
    })
    expect(await statusOf(secret)).toBe(200)
    const account = await admin.get<OperatorAccountDetail>(`/accounts/${accountId}`)
    expect(account.keys.map(({ id }) => id)).toContain(key.id)
    expect(JSON.stringify(account)).not.toContain(secret)
    expect(await actionsOn(accountId)).toEqual(['key.create asked'])
    for (const body of [{}, { name: 'x', limit_reset: 'daily' }, { name: 'x', expires_at: '2020-01-01' }])
      await expectError(await admin.send('POST', `/accounts/${accountId}/keys`, body), 400, 'invalid_request')
    await expectError(await admin.send('POST', '/accounts/nobody/keys', { name: 'x' }), 404, 'not_found')
  })

  test('is paused and resumed, and edited', async () => {
    const { accountId } = await stack.account('1.00')
    const { key, secret } = await issue(accountId)
    const paused = await admin.post<OperatorKey>(`/keys/${key.id}/pause`)
    expect(paused.paused_at).not.toBeNull()
    await eventually(async () => expect(await statusOf(secret)).toBe(403))
    await admin.post(`/keys/${key.id}/resume`)
    await eventually(async () => expect(await statusOf(secret)).toBe(200))
    const expiry = new Date(Date.now() + 86_400_000).toISOString()
    const edited = await admin.post<OperatorKey>(`/keys/${key.id}/limits`, {
      name: 'renamed',
      expires_at: expiry,
    })
    expect(edited).toMatchObject({ name: 'renamed', expires_at: expiry, limit_usd: null })
    await expectError(
      await admin.send('POST', `/keys/${key.id}/limits`, { expires_at: '2020-01-01' }),
      400,
      'invalid_request',
    )
    await admin.post(`/keys/${key.id}/revoke`)
    await expectError(await admin.send('POST', `/keys/${key.id}/resume`), 400, 'invalid_request')
    expect(await actionsOn(key.id)).toEqual([
      'key.revoke asked',
      'key.limits asked',
      'key.resume asked',
      'key.pause asked',
    ])
  })
})
