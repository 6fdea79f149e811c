import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { VisitorView } from '../../../src/core/api/gateway.ts'
import type { CreatedKey, KeyView } from '../../../src/core/api/keys.ts'
import type {
  ActivityEntry,
  MemberList,
  ReceivedInvitationView,
  SentInvitationView,
} from '../../../src/core/api/organisations.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import { formatUsd } from '../../../src/core/kernel/money.ts'
import { announceKeyChange } from '../../../src/platform/redis/key-changes.ts'
import { ask } from '../../helpers/chat-client.ts'
import { type ConsoleClient, PASSWORD } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { expectLedgerInOrder } from '../../helpers/ledger.ts'
import { actOn, type Member, member, organisationOf } from '../../helpers/organisation.ts'
import { getAs } from '../../helpers/requests.ts'
import { testMailCatcher, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const API = '/console/api'

const catcher = testMailCatcher()
const stack = testStack(() => ({
  environment: {
    ...catcher.environment,
    PUBLIC_URL: 'https://gateway.example',
  },
}))

const verify = (email: string) =>
  stack.postgres.account.update({ where: { email }, data: { emailVerifiedAt: new Date() } })

/** An organisation whose owner may invite. */
async function organisation(...roles: Parameters<typeof organisationOf>[1]) {
  const made = await organisationOf(stack, ['owner', ...roles])
  await verify(made.members.owner.email)
  return { ...made, owner: made.members.owner }
}

const invite = (by: ConsoleClient, email: string, role = 'developer') =>
  by.ask(`${API}/members/invitations`, { body: { email, role } })
const tokenFor = async (email: string, wanted = 1) =>
  (await catcher.tokens(email, wanted, 'invitation')).at(-1) ?? ''
const accept = (by: ConsoleClient, body: { token: string } | { id: string }) =>
  by.ask(`${API}/invitations/accept`, { body })
const membersOf = (by: ConsoleClient) => by.json<MemberList>(`${API}/members`)
const sessionOf = (by: ConsoleClient) => by.json<SessionView>(`${API}/session`)
const activityOf = async (by: ConsoleClient, search = '') =>
  (await by.json<Page<ActivityEntry>>(`${API}/activity${search}`)).data.map(
    ({ action, person, target, details }) => ({
      ...{ action, person, target, details },
    }),
  )

describe('an invitation', () => {
  test('has a subject without the name that a stranger chose, and is sent ten times a day before anything is paid', async () => {
    const { owner, accountId } = await organisation()
    const send = () => invite(owner, `guest-${randomBytes(6).toString('hex')}@example.test`)
    const { invitation } = (await (await send()).json()) as SentInvitationView
    await tokenFor(invitation.email)
    const { content } = catcher.received.find(({ to }) => to.includes(invitation.email))!
    expect(content).toMatch(/^Subject: You are invited to an organisation\r?$/m)
    const { name } = (await owner.json<SessionView>(`${API}/session`)).account
    expect(content).toContain(`invited you to "${name}"`)

    for (let sent = 1; sent < 10; sent++) expect((await send()).status).toBe(201)
    await expectError(await send(), 429, 'rate_limit_exceeded')
    await stack.command('admin', 'account', 'credit', accountId, '--amount', '5.00')
    expect((await send()).status).toBe(201)
  })

  test('an invitation arrives by mail and makes the holder of its address a member, once', async () => {
    const { owner, accountId } = await organisation()
    const invited = await member(stack.url)
    const sent = (await (await invite(owner, ` ${invited.email.toUpperCase()}`)).json()) as SentInvitationView
    expect(sent).toMatchObject({ invitation: { email: invited.email, role: 'developer' }, link: null })
    const token = await tokenFor(invited.email)
    const looked = await invited.json<ReceivedInvitationView>(`${API}/invitations/look`, { body: { token } })
    expect(looked).toMatchObject({ email: invited.email, role: 'developer', invited_by: owner.email })
    const days = (Date.parse(looked.expires_at) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(6.9)
    expect(days).toBeLessThanOrEqual(7)

    const stranger = await member(stack.url)
    await verify(stranger.email)
    await expectError(await accept(stranger, { token }), 409, 'conflict')
    // Who signs up with the address has not proved it: a link may have been passed on.
    await expectError(await accept(invited, { token }), 409, 'conflict')
    await verify(invited.email)
    const answers = await Promise.all([accept(invited, { token }), accept(invited, { token })])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
    expect((await sessionOf(invited)).account).toMatchObject({ id: accountId, role: 'developer' })
    const { data, invitations } = await membersOf(owner)
    expect(data.map(({ email, role }) => [email, role])).toEqual([
      [owner.email, 'owner'],
      [invited.email, 'developer'],
    ])
    expect(invitations).toEqual([])
    expect(await activityOf(owner)).toMatchObject([
      {
        action: 'member.joined',
        person: invited.email,
        target: invited.email,
        details: { role: 'developer' },
      },
      { action: 'member.invited', person: owner.email, details: { email: invited.email } },
      { action: 'organisation.created', person: owner.email },
    ])
    expect(await activityOf(owner, `?target=${invited.email}`)).toMatchObject([{ action: 'member.joined' }])
    expect(await activityOf(owner, '?target=key_none')).toEqual([])
    await expectError(await invite(owner, invited.email), 409, 'conflict')
  })

  test('is listed to the verified holder of its address, who may decline it', async () => {
    const { owner } = await organisation()
    const invited = await member(stack.url)
    await invite(owner, invited.email, 'billing')
    const listed = async () => (await invited.json<VisitorView>(`${API}/visitor`)).invitations
    expect(await listed()).toEqual([])
    await verify(invited.email)
    const [one] = await listed()
    expect(one).toMatchObject({ role: 'billing', invited_by: owner.email })
    const stranger = await member(stack.url)
    await verify(stranger.email)
    await expectError(await accept(stranger, { id: one!.id }), 400, 'invalid_request')
    const declined = await invited.ask(`${API}/invitations/decline`, { body: { id: one!.id } })
    expect(declined.status).toBe(204)
    expect(await listed()).toEqual([])
    expect((await membersOf(owner)).data).toHaveLength(1)
  })

  test('ends when it is taken back, and after seven days', async () => {
    const { owner } = await organisation()
    const [first, second] = [await member(stack.url), await member(stack.url)]
    for (const { email } of [first, second]) await verify(email)
    const { invitation } = (await (await invite(owner, first.email)).json()) as SentInvitationView
    const token = await tokenFor(first.email)
    const revoked = await owner.ask(`${API}/members/invitations/${invitation.id}`, { method: 'DELETE' })
    expect(revoked.status).toBe(204)
    await expectError(await accept(first, { token }), 400, 'invalid_request')

    const late = (await (await invite(owner, second.email)).json()) as SentInvitationView
    const old = await tokenFor(second.email)
    await stack.postgres.organisationInvitation.update({
      where: { id: late.invitation.id },
      data: { expiresAt: new Date() },
    })
    await expectError(await accept(second, { token: old }), 400, 'invalid_request')
    const again = await owner.ask(`${API}/members/invitations/${late.invitation.id}/resend`, { body: {} })
    expect(again.status).toBe(200)
    expect((await accept(second, { token: await tokenFor(second.email, 2) })).status).toBe(200)
  })

  test('is sent for people with a verified address alone', async () => {
    const { members } = await organisationOf(stack, ['owner'])
    await expectError(await invite(members.owner, 'somebody@example.test'), 409, 'conflict')
  })

  test('ends with the membership of who sent it, and with the role that permits it', async () => {
    const { owner, members } = await organisation('admin', 'developer')
    const { admin } = members
    await verify(admin.email)
    const invited = await Promise.all([0, 1].map(() => member(stack.url)))
    for (const { email } of invited) await verify(email)
    const links = await Promise.all(
      invited.map(async ({ email }) => {
        expect((await invite(admin, email, 'admin')).status).toBe(201)
        return tokenFor(email)
      }),
    )
    const invitations = async () => (await membersOf(owner)).invitations
    const [resent, left] = await invitations()
    expect((await owner.ask(`${API}/members/invitations/${resent!.id}/resend`, { body: {} })).status).toBe(
      200,
    )
    expect((await owner.ask(`${API}/members/${admin.personId}/remove`, { body: {} })).status).toBe(204)
    // What an owner sent again is the owner's.
    expect((await invitations()).map(({ id }) => id)).toEqual([resent!.id])
    const [ended, kept] = left!.email === invited[0]!.email ? [0, 1] : [1, 0]
    await expectError(await accept(invited[ended]!, { token: links[ended]! }), 400, 'invalid_request')
    expect((await accept(invited[kept]!, { token: links[kept]! })).status).toBe(200)

    const promoted = invited[kept]!
    expect((await invite(promoted, 'later@example.test')).status).toBe(201)
    const demote = { method: 'PATCH', body: { role: 'developer' } }
    expect((await owner.ask(`${API}/members/${promoted.personId}`, demote)).status).toBe(204)
    expect(await invitations()).toEqual([])
  })

  test('an invitation by a suspended person cannot be accepted', async () => {
    const { members } = await organisation('admin')
    await verify(members.admin.email)
    const invited = await member(stack.url)
    await verify(invited.email)
    await invite(members.admin, invited.email)
    const token = await tokenFor(invited.email)
    await stack.command('admin', 'account', 'suspend', members.admin.personId)
    await expectError(await accept(invited, { token }), 400, 'invalid_request')
  })

  test('to be an owner, and a change of owners, takes an owner', async () => {
    const { owner, members } = await organisation('admin', 'developer')
    await verify(members.admin.email)
    await expectError(await invite(members.admin, 'boss@example.test', 'owner'), 403, 'not_permitted')
    const { invitation } = (await (
      await invite(owner, 'partner@example.test', 'owner')
    ).json()) as SentInvitationView
    const ofOwner = `${API}/members/invitations/${invitation.id}`
    await expectError(await members.admin.ask(`${ofOwner}/resend`, { body: {} }), 403, 'not_permitted')
    await expectError(await members.admin.ask(ofOwner, { method: 'DELETE' }), 403, 'not_permitted')
    expect((await owner.ask(`${ofOwner}/resend`, { body: {} })).status).toBe(200)
    expect((await owner.ask(ofOwner, { method: 'DELETE' })).status).toBe(204)
    const change = (by: Member, id: string, role: string) =>
      by.ask(`${API}/members/${id}`, { method: 'PATCH', body: { role } })
    await expectError(await change(members.admin, members.admin.personId, 'owner'), 403, 'not_permitted')
    await expectError(await change(members.admin, owner.personId, 'billing'), 403, 'not_permitted')
    const remove = members.admin.ask(`${API}/members/${owner.personId}/remove`, { body: {} })
    await expectError(await remove, 403, 'not_permitted')
    expect((await change(members.admin, members.developer.personId, 'billing')).status).toBe(204)
    expect((await sessionOf(members.developer)).account.role).toBe('billing')
  })
})

describe('a membership', () => {
  test('of the last owner does not end, and does not become another role', async () => {
    const { owner, members } = await organisation('admin')
    const demote = () =>
      owner.ask(`${API}/members/${owner.personId}`, { method: 'PATCH', body: { role: 'admin' } })
    await expectError(await demote(), 409, 'conflict')
    await expectError(await owner.ask(`${API}/organisation/leave`, { body: {} }), 409, 'conflict')
    const body = { current_password: PASSWORD }
    await actOn(owner, owner.personId)
    const refused = await owner.ask(`${API}/account/delete`, { body: { ...body, forfeit_usd: '0.50' } })
    expect(await refused.clone().text()).toContain('only owner of Works')
    await expectError(refused, 409, 'conflict')
    await actOn(owner, (await sessionOf(members.admin)).account.id)
    const promoted = await owner.ask(`${API}/members/${members.admin.personId}`, {
      method: 'PATCH',
      body: { role: 'owner' },
    })
    expect(promoted.status).toBe(204)
    // Of two owners who leave at once, one stays.
    const leave = (one: Member) => one.ask(`${API}/organisation/leave`, { body: {} })
    const left = await Promise.all([leave(owner), leave(members.admin)])
    expect(left.map(({ status }) => status).sort()).toEqual([204, 409])
  })

  test('that ends takes the organisation away at once, with the keys of the member', async () => {
    const { owner, members, accountId } = await organisation('developer')
    const { developer } = members
    const made = await developer.json<CreatedKey>(`${API}/keys`, { body: { name: 'theirs' } })
    await stack.command('admin', 'account', 'credit', accountId, '5')
    const call = () => getAs(made.secret, `${stack.url}/v1/credits`)
    expect((await call()).status).toBe(200)
    const live = await developer.ask(`${API}/live`)
    expect((await owner.ask(`${API}/members/${developer.personId}/remove`, { body: {} })).status).toBe(204)
    const shown = await sessionOf(developer)
    expect(shown.account.id).toBe(developer.personId)
    expect(shown.accounts).toHaveLength(1)
    await expectError(
      await developer.ask(`${API}/session/account`, { body: { account_id: accountId } }),
      404,
      'not_found',
    )
    await eventually(async () => expect((await call()).status).toBe(403))
    expect(await live.text()).toContain('account_changed')
  })

  test('that ends hands keys over with new secrets, if an owner or admin says so', async () => {
    const { owner, members, accountId } = await organisation('developer', 'admin')
    const { developer, admin } = members
    const { key, secret } = await developer.json<CreatedKey>(`${API}/keys`, { body: { name: 'kept' } })
    const status = (bearer: string) => getAs(bearer, `${stack.url}/v1/credits`).then((r) => r.status)
    expect(await status(secret)).toBe(200)
    const leaving = { body: { keys_go_to: owner.personId } }
    await expectError(await developer.ask(`${API}/organisation/leave`, leaving), 403, 'not_permitted')
    const remove = (to: string) =>
      owner.ask(`${API}/members/${developer.personId}/remove`, { body: { keys_go_to: to } })
    const stranger = await member(stack.url)
    await expectError(await remove(stranger.personId), 404, 'not_found')
    await expectError(await remove(developer.personId), 404, 'not_found')
    expect((await remove(owner.personId)).status).toBe(204)
    expect(await stack.postgres.apiKey.findUnique({ where: { id: key.id } })).toMatchObject({
      state: 'active',
      createdBy: owner.personId,
    })
    // Whoever left still knows the former secret.
    await eventually(async () => expect(await status(secret)).toBe(401))
    const page = `${API}/keys/${key.id}`
    expect(await owner.json<KeyView>(page)).toMatchObject({ has_secret: false, name: 'kept' })
    const rotated = await owner.json<CreatedKey>(`${page}/rotate-secret`, { method: 'POST' })
    expect(rotated.key).toMatchObject({ id: key.id, has_secret: true, state: 'active' })
    expect(await status(rotated.secret)).toBe(200)

    // The same holds for an admin who leaves, and for a secret that is rotated at any time.
    const own = await admin.json<CreatedKey>(`${API}/keys`, { body: { name: 'of the admin' } })
    const rotate = `${API}/keys/${own.key.id}/rotate-secret`
    const once = await admin.json<CreatedKey>(rotate, { method: 'POST' })
    await eventually(async () => expect(await status(own.secret)).toBe(401))
    await expectError(await admin.ask(rotate, { body: { grace_seconds: 604_801 } }), 400, 'invalid_request')
    const again = await admin.json<CreatedKey>(rotate, { body: { grace_seconds: 604_800 } })
    expect(again.key).toMatchObject({ id: own.key.id, previous_secret_until: expect.any(String) })
    for (const valid of [once.secret, again.secret]) expect(await status(valid)).toBe(200)
    expect((await admin.ask(`${API}/organisation/leave`, leaving)).status).toBe(204)
    for (const former of [once.secret, again.secret])
      await eventually(async () => expect(await status(former)).toBe(401))
    const actions = await stack.postgres.accountAction.findMany({
      where: { accountId, action: 'key.secret_rotated' },
      orderBy: { id: 'asc' },
    })
    expect(actions.map(({ target }) => target)).toEqual([key.id, own.key.id, own.key.id])
    expect(actions.at(-1)?.details).toMatchObject({ grace_seconds: 604_800 })
  })

  test('keys of suspended persons and former members of an organisation cannot call', async () => {
    const { members, accountId } = await organisation('developer')
    const { developer } = members
    const { key, secret } = await developer.json<CreatedKey>(`${API}/keys`, { body: { name: 'theirs' } })
    const call = () => getAs(secret, `${stack.url}/v1/credits`)
    expect((await call()).status).toBe(200)
    await stack.command('admin', 'account', 'suspend', developer.personId)
    await eventually(async () => expectError(await call(), 403, 'account_suspended'))
    await stack.command('admin', 'account', 'resume', developer.personId)
    await eventually(async () => expect((await call()).status).toBe(200))
    // A key that was being made while its maker was removed.
    await stack.postgres.organisationMember.deleteMany({ where: { accountId, personId: developer.personId } })
    await announceKeyChange(stack.redis, { keyId: key.id })
    await eventually(async () => expectError(await call(), 403, 'key_revoked'))
  })
})

describe('the budget of a member', () => {
  test('is set by who may set limits, and shown with what the keys of the member spent this month', async () => {
    const { owner, members, accountId } = await organisation('developer', 'billing')
    const { developer, billing } = members
    await stack.command('admin', 'account', 'credit', accountId, '5')
    const { key, secret } = await developer.json<CreatedKey>(`${API}/keys`, { body: { name: 'app' } })
    const call = (bearer = secret) => ask({ url: stack.url, key: bearer }, { model: 'test/one' })
    expect((await call()).status).toBe(200)
    await stack.settled(accountId)
    const set = (by: ConsoleClient, usd: string | null, id = developer.personId) =>
      by.ask(`${API}/members/${id}/budget`, { method: 'PATCH', body: { monthly_budget_usd: usd } })
    await expectError(await set(developer, '9.00'), 403, 'not_permitted')
    await expectError(await set(owner, '9.00', 'acct_none'), 404, 'not_found')
    expect((await set(billing, '0.00')).status).toBe(204)
    expect((await call()).errorCode).toBe('key_limit_exceeded')

    const { _sum } = await stack.postgres.callRecord.aggregate({
      where: { accountId },
      _sum: { chargePico: true },
    })
    const list = await owner.json<MemberList>(`${API}/members`)
    const rowOf = ({ personId }: { personId: string }) => list.data.find(({ id }) => id === personId)
    expect(rowOf(developer)).toMatchObject({
      monthly_budget_usd: '0.00',
      spent_usd: formatUsd(_sum.chargePico ?? 0n),
      remaining_usd: '0.00',
    })
    expect(rowOf(owner)).toMatchObject({ monthly_budget_usd: null, spent_usd: '0.00', remaining_usd: null })
    expect(Date.parse(list.budgets_reset_at)).toBeGreaterThan(Date.now())

    // Who takes over the keys takes over what they spent.
    expect((await set(owner, '0.00', owner.personId)).status).toBe(204)
    const removal = { body: { keys_go_to: owner.personId } }
    const removed = await owner.ask(`${API}/members/${developer.personId}/remove`, removal)
    expect(removed.status).toBe(204)
    const rotated = await owner.json<CreatedKey>(`${API}/keys/${key.id}/rotate-secret`, { method: 'POST' })
    expect((await call(rotated.secret)).errorCode).toBe('key_limit_exceeded')
    expect((await set(owner, null, owner.personId)).status).toBe(204)
    expect((await call(rotated.secret)).status).toBe(200)
    await expectLedgerInOrder(stack)
    const actions = await stack.postgres.accountAction.findMany({
      where: { accountId, action: 'member.budget_set' },
    })
    expect(actions.map(({ details }) => details)).toContainEqual({ monthly_budget_usd: '0.00' })
  })
})

describe('an organisation', () => {
  test('is deleted by an owner, and nothing of its people stays', async () => {
    const { owner, members, accountId } = await organisation('admin')
    await invite(owner, 'never-came@example.test')
    await stack.command('admin', 'account', 'credit', accountId, '5')
    const body = { current_password: PASSWORD }
    const remove = (by: ConsoleClient, more = {}) =>
      by.ask(`${API}/organisation/delete`, { body: { ...body, ...more } })
    await expectError(await remove(members.admin), 403, 'not_permitted')
    await expectError(await remove(owner), 409, 'conflict')
    const exported = await (await owner.ask(`${API}/organisation/export`)).text()
    expect(JSON.parse(exported)).toMatchObject({
      members: [{ role: 'admin' }, { role: 'owner' }],
      invitations: [{ email: 'never-came@example.test' }],
    })
    expect((await remove(owner, { forfeit_usd: '5.00' })).status).toBe(204)
    for (const one of [owner, members.admin])
      expect((await sessionOf(one)).account).toMatchObject({ id: one.personId })
    const { postgres } = stack
    const left = await Promise.all([
      postgres.organisationMember.count({ where: { accountId } }),
      postgres.organisationInvitation.count({ where: { accountId } }),
      postgres.accountAction.count({ where: { accountId } }),
    ])
    expect(left).toEqual([0, 0, 0])
    expect(await postgres.account.findUnique({ where: { id: accountId } })).toMatchObject({
      ...{ name: `deleted-${accountId}`, email: null, state: 'suspended', balancePico: 0n },
    })
  })

  test('is left by a person who deletes their account, with the keys they made', async () => {
    const { owner, members, accountId } = await organisation('developer')
    const { developer } = members
    await developer.json<CreatedKey>(`${API}/keys`, { body: { name: 'theirs' } })
    const body = { current_password: PASSWORD, forfeit_usd: '0.50' }
    expect((await developer.ask(`${API}/account/delete`, { body })).status).toBe(204)
    expect((await membersOf(owner)).data).toHaveLength(1)
    expect(await stack.postgres.apiKey.count({ where: { accountId, state: 'active' } })).toBe(0)
    const [created] = await activityOf(owner)
    expect(created).toMatchObject({ action: 'key.created', person: 'a deleted account' })
  })

  test('gets another name from its owners and admins', async () => {
    const { owner } = await organisation()
    const renamed = await owner.json<SessionView>(`${API}/organisation`, {
      method: 'PATCH',
      body: { name: ' Signal box ' },
    })
    expect(renamed.account.name).toBe('Signal box')
    // Invitations show it to strangers.
    const address = { method: 'PATCH', body: { name: 'Pay now: https://evil.example' } }
    await expectError(await owner.ask(`${API}/organisation`, address), 400, 'invalid_request')
    await actOn(owner, owner.personId)
    const own = owner.ask(`${API}/organisation`, { method: 'PATCH', body: { name: 'Me' } })
    await expectError(await own, 404, 'not_found')
    await expectError(await owner.ask(`${API}/members`), 404, 'not_found')
  })

  test('is one of twenty at most that a person owns', async () => {
    const owner = await member(stack.url)
    const open = (name: string) => owner.ask(`${API}/organisations`, { body: { name } })
    const statuses = await Promise.all(
      Array.from({ length: 22 }, (_, index) => open(`Number ${index}`).then(({ status }) => status)),
    )
    expect(statuses.filter((status) => status === 201)).toHaveLength(20)
    expect(statuses.filter((status) => status === 409)).toHaveLength(2)
  })
})
