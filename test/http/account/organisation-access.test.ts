import { beforeAll, describe, expect, test } from 'vitest'
import { MEMBER_ROLES, type MemberRole } from '../../../src/core/accounts/member-permissions.ts'
import type { BillingView } from '../../../src/core/api/billing.ts'
import type { CreatedKey, KeyList } from '../../../src/core/api/keys.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { actOn, type Member, member, organisationOf } from '../../helpers/organisation.ts'
import { testStack } from '../../helpers/resources.ts'
import { registeredRoutes } from '../../hostile/registered-routes.ts'
import { expectError } from '../wire.ts'

let accountId: string
let members: Record<MemberRole, Member>

const stack = testStack()
beforeAll(async () => {
  ;({ accountId, members } = await organisationOf(stack, MEMBER_ROLES))
})

const ALL = 'owner admin developer billing'
const KEY_MAKERS = 'owner admin developer'
const PAYERS = 'owner admin billing'
const MANAGERS = 'owner admin'

/** Who may use each route of the console on an organisation. */
const PERMITTED: Record<string, string> = {
  'GET /session': ALL,
  'GET /live': ALL,
  'PATCH /account': PAYERS,
  'PATCH /organisation': MANAGERS,
  'POST /organisation/leave': ALL,
  'GET /organisation/export': 'owner',
  'POST /organisation/delete': 'owner',
  'GET /members': ALL,
  'PATCH /members/:id': MANAGERS,
  'PATCH /members/:id/budget': PAYERS,
  'POST /members/:id/remove': MANAGERS,
  'POST /members/invitations': MANAGERS,
  'POST /members/invitations/:id/resend': MANAGERS,
  'DELETE /members/invitations/:id': MANAGERS,
  'GET /activity': MANAGERS,
  'GET /keys': KEY_MAKERS,
  'POST /keys': KEY_MAKERS,
  'GET /keys/:id': KEY_MAKERS,
  'PATCH /keys/:id': KEY_MAKERS,
  'POST /keys/:id/pause': KEY_MAKERS,
  'POST /keys/:id/resume': KEY_MAKERS,
  'POST /keys/:id/revoke': KEY_MAKERS,
  'POST /keys/:id/rotate-secret': KEY_MAKERS,
  'DELETE /keys/:id/prompt-logs': KEY_MAKERS,
  'DELETE /cached-responses': KEY_MAKERS,
  'GET /calls/:id/prompt-log': KEY_MAKERS,
  'GET /models/:id/providers': ALL,
  'GET /billing': PAYERS,
  'GET /ledger': PAYERS,
  'GET /spend-cap': ALL,
  'PATCH /spend-cap': PAYERS,
  'GET /statements/:month': PAYERS,
  'POST /top-ups': PAYERS,
  'GET /top-ups': PAYERS,
  'GET /top-ups/:id': PAYERS,
  'GET /top-ups/:id/invoices': PAYERS,
  'GET /invoices': PAYERS,
  'GET /invoices/:id/pdf': PAYERS,
  'GET /billing-details': PAYERS,
  'PATCH /billing-details': PAYERS,
  'GET /auto-top-up': PAYERS,
  'PATCH /auto-top-up': PAYERS,
  'POST /saved-card': PAYERS,
  'POST /saved-card/confirm': PAYERS,
  'DELETE /saved-card': PAYERS,
  'GET /usage': ALL,
  'GET /usage/refusals': ALL,
  'GET /usage/series': ALL,
  'GET /usage/series.csv': ALL,
  'GET /call-sessions': ALL,
  'GET /call-sessions/calls': ALL,
  'GET /calls': ALL,
  'GET /calls.csv': ALL,
  'GET /calls/:id': ALL,
  'POST /calls/:id/feedback': KEY_MAKERS,
  'GET /presets': KEY_MAKERS,
  'POST /presets': MANAGERS,
  'GET /presets/:name': KEY_MAKERS,
  'DELETE /presets/:name': MANAGERS,
  'GET /budgets': ALL,
  'POST /budgets': PAYERS,
  'DELETE /budgets': PAYERS,
  'GET /provider-keys': KEY_MAKERS,
  'POST /provider-keys': MANAGERS,
  'PATCH /provider-keys/:id': MANAGERS,
  'DELETE /provider-keys/:id': MANAGERS,
  'GET /guardrails': KEY_MAKERS,
  'POST /guardrails': MANAGERS,
  'DELETE /guardrails': MANAGERS,
  'POST /guardrails/test': MANAGERS,
  'GET /webhooks': KEY_MAKERS,
  'POST /webhooks': MANAGERS,
  'DELETE /webhooks/:id': MANAGERS,
  'POST /webhooks/:id/rotate-secret': MANAGERS,
  'POST /webhooks/:id/enable': MANAGERS,
  'POST /webhooks/:id/test': MANAGERS,
  'GET /webhooks/:id/deliveries': KEY_MAKERS,
  'POST /webhook-deliveries/:id/retry': MANAGERS,
}

/** Bodies that pass the schema of a route, since roles are looked at first only where a hook does it. */
const BODIES: Record<string, unknown> = {
  'PATCH /account': { low_balance_usd: '2.00' },
  // Refused as a body, so that members stay.
  'POST /organisation/leave': { keys_go_to: '' },
}

/** Routes for everybody, and for what is a person's own, whatever they act on. */
const NOT_OF_ACCOUNTS = new Set([
  'GET /provider-status',
  'GET /visitor',
  'GET /models',
  'GET /models/:id',
  'GET /provider-status',
  'POST /sign-up',
  'POST /sign-in',
  'POST /sign-in/asked',
  'POST /sign-in/second-factor',
  'POST /sign-in/passkey-options',
  'POST /sign-in/passkey',
  'POST /sign-out',
  'POST /verify',
  'POST /verification-mails',
  'POST /password-resets',
  'POST /password-resets/use',
  'POST /email-changes',
  'POST /email-changes/confirm',
  'POST /oauth/:provider',
  'GET /oauth/:provider/callback',
  'GET /identities',
  'POST /identities/:provider',
  'POST /identities/:provider/remove',
  'GET /sessions',
  'DELETE /sessions/:id',
  'DELETE /sessions',
  'GET /second-factor',
  'POST /second-factor/totp',
  'POST /second-factor/totp/confirm',
  'POST /second-factor/totp/remove',
  'POST /second-factor/passkey-options',
  'POST /second-factor/passkeys',
  'POST /second-factor/passkeys/:id/remove',
  'POST /second-factor/recovery-codes',
  'GET /account/export',
  'POST /account/delete',
  'POST /password',
  'POST /session/account',
  'POST /organisations',
  'POST /invitations/look',
  'POST /invitations/accept',
  'POST /invitations/decline',
])

const PREFIX = '/console/api'

/** Whether a route refuses a role for what it is. */
async function isRefused(route: string, role: MemberRole): Promise<boolean> {
  const [method = '', path = ''] = route.split(' ')
  const leave = new AbortController()
  const response = await members[role].ask(PREFIX + path.replace(/:\w+/g, 'none'), {
    method,
    ...(method !== 'GET' && { body: BODIES[route] ?? {} }),
    signal: leave.signal,
  })
  const text = path === '/live' ? '' : await response.text()
  leave.abort()
  return response.status === 403 && text.includes('not_permitted')
}

test('every route of the console says who may use it', async () => {
  const routes = await registeredRoutes(stack.environment)
  const own = routes.flatMap(({ method, path }) =>
    path.startsWith(`${PREFIX}/`) && !path.includes('*') && !['HEAD', 'OPTIONS'].includes(method)
      ? `${method} ${path.slice(PREFIX.length)}`
      : [],
  )
  const ofPlayground = own.filter((route) => route.includes('/playground/'))
  const known = new Set([...Object.keys(PERMITTED), ...NOT_OF_ACCOUNTS, ...ofPlayground])
  expect(own.filter((route) => !known.has(route))).toEqual([])
  expect([...known].filter((route) => !own.includes(route))).toEqual([])
})

describe.each(MEMBER_ROLES)('the role %s', (role) => {
  test.each(Object.entries(PERMITTED))('of %s for %s', async (route, permitted) => {
    expect(await isRefused(route, role)).toBe(!permitted.split(' ').includes(role))
  })
})

describe('an account that is acted on', () => {
  test('is chosen by its members alone; to everybody else it does not exist', async () => {
    const stranger = await member(stack.url)
    const asked = (id: string) => stranger.ask(`${PREFIX}/session/account`, { body: { account_id: id } })
    await expectError(await asked(accountId), 404, 'not_found')
    await expectError(await asked(members.admin.personId), 404, 'not_found')
    await expectError(await asked('acct_none'), 404, 'not_found')
    const { account, accounts } = await stranger.json<SessionView>(`${PREFIX}/session`)
    expect(account).toMatchObject({ id: stranger.personId, is_organisation: false, role: 'owner' })
    expect(accounts).toHaveLength(1)
  })

  test('is that of a session alone: another session of the person acts on their own', async () => {
    const { owner } = members
    const shown = await owner.json<SessionView>(`${PREFIX}/session`)
    expect(shown).toMatchObject({
      person: { id: owner.personId, email: owner.email },
      account: { id: accountId, is_organisation: true, role: 'owner', free_credit_usd: null },
      accounts: [{ id: owner.personId }, { id: accountId, role: 'owner' }],
      balance: { balance_usd: '0.00' },
    })
    const back = await actOn(owner, owner.personId)
    expect(back.account.id).toBe(owner.personId)
    expect((await owner.json<BillingView>(`${PREFIX}/billing`)).balance_usd).toBe('0.50')
    await actOn(owner, accountId)
  })

  test('is not changed by a page that shows another one', async () => {
    const { owner } = members
    const make = (shown: string) =>
      owner.ask(`${PREFIX}/keys`, { body: { name: 'late' }, headers: { 'x-shuntyard-account': shown } })
    await expectError(await make(owner.personId), 409, 'conflict')
    await actOn(owner, owner.personId)
    await expectError(await make(accountId), 409, 'conflict')
    await actOn(owner, accountId)
    const shown = { headers: { 'x-shuntyard-account': accountId } }
    expect((await owner.ask(`${PREFIX}/keys`, shown)).status).toBe(200)
  })

  test('shows developers the keys that they made, and owners all of them', async () => {
    const { developer, owner } = members
    const make = (one: Member, name: string) =>
      one.json<CreatedKey>(`${PREFIX}/keys`, { body: { name } }).then(({ key }) => key.id)
    const [own, other] = [await make(developer, 'mine'), await make(owner, 'of the owner')]
    const listed = async (one: Member) => {
      const { data } = await one.json<KeyList>(`${PREFIX}/keys`)
      return data.map(({ id }) => id).sort()
    }
    expect(await listed(developer)).toEqual([own])
    expect(await listed(owner)).toEqual([own, other].sort())
    const revoke = (id: string) => developer.ask(`${PREFIX}/keys/${id}/revoke`, { body: {} })
    await expectError(await revoke(other), 404, 'not_found')
    const play = await developer.ask(`${PREFIX}/playground/chat-completions?key_id=${other}`, { body: {} })
    await expectError(play, 404, 'not_found')
    expect((await revoke(own)).status).toBe(200)
    const done = await stack.postgres.accountAction.findMany({
      where: { accountId, personId: developer.personId },
      orderBy: { id: 'asc' },
    })
    expect(done.map(({ action, target }) => [action, target])).toEqual([
      ['key.created', own],
      ['key.revoked', own],
    ])
  })

  test('is not acted on any more once it is suspended', async () => {
    const { accountId: closed, members: its } = await organisationOf(stack, ['owner', 'admin'])
    await stack.command('admin', 'account', 'suspend', closed)
    const { account, accounts } = await its.admin.json<SessionView>(`${PREFIX}/session`)
    expect(account.id).toBe(its.admin.personId)
    expect(accounts).toHaveLength(1)
    await stack.command('admin', 'account', 'resume', closed)
    expect((await its.admin.json<SessionView>(`${PREFIX}/session`)).account.id).toBe(its.admin.personId)
    expect((await actOn(its.admin, closed)).account.id).toBe(closed)
  })

  test.each([
    `UPDATE account_actions SET target = 'x'`,
    'DELETE FROM account_actions',
    'TRUNCATE account_actions',
  ])('keeps the record of what was done to it: %s', async (sql) => {
    await expect(stack.postgres.$executeRawUnsafe(sql)).rejects.toThrow(/append-only/)
  })
})
