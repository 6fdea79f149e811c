import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import type { AccountActionStore } from '../../accounts/account-action-store.ts'
import { type Account, type AccountStore, isPerson, type Person } from '../../accounts/account-store.ts'
import type { MemberStore } from '../../accounts/organisation/member-store.ts'
import type { SessionStore, StoredSession } from '../../accounts/session-store.ts'
import type { AccountActionName, ActionDetails } from '../../core/accounts/account-action.ts'
import type { KeyAuthority } from '../../core/accounts/key-authority.ts'
import { isPermitted, type MemberRole, type Permission } from '../../core/accounts/member-permissions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { requireSameOrigin } from '../same-origin.ts'
import type { SessionCookies } from '../session-cookie.ts'
import { createWindowLimit } from '../window-limit.ts'

export interface SessionOptions {
  sessions: Pick<SessionStore, 'find'>
  accounts: Pick<AccountStore, 'find'>
  members: Pick<MemberStore, 'find'>
  accountActions: Pick<AccountActionStore, 'record'>
  cookies: SessionCookies
  publicUrl: string | null
  logger: Logger
  clock: () => number
}

/** A signed-in person. Personal data (password, second factor, sessions, email) belongs to `person`. */
export interface PersonSession {
  stored: StoredSession
  person: Person
}

/** The account that a session acts on: the person's own, or an organisation with the person as a member. */
export interface ActingSession extends PersonSession {
  account: Account
  /** On their own account a person is the owner. */
  role: MemberRole
}

const SECOND_MS = 1_000
/** Limits of a person's recorded actions, since each is a permanent row. */
const ACTIONS = [
  { max: 120, windowMs: 60 * SECOND_MS },
  { max: 2_000, windowMs: 86_400 * SECOND_MS },
]
const ACTIONS_REFUSAL = 'You have made many changes in a short time. Wait, then retry.'

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireSession`. */
    personSession: PersonSession | null
    /** Set by the hooks of `requirePermission`. */
    actingSession: ActingSession | null
  }
  interface FastifyInstance {
    /**
     * An onRequest hook for a person's own data: 401 unless a person is signed in, 403 for a change requested by
     * another site's page. Reads PostgreSQL, so that the end of a session takes effect at once.
     */
    requireSession: Hook
    /** An onRequest hook for an account's data: the same, and 403 if the role of the person does not permit it. */
    requirePermission(permission: Permission): Hook
    /**
     * Records an action of the request's person on the session's account, or on their own. The action is completed, so
     * a failure is logged and does not fail the request.
     */
    recordAction(
      request: FastifyRequest,
      action: AccountActionName,
      target: string,
      details?: ActionDetails,
    ): Promise<void>
  }
}

/** Sessions of people, and the accounts they act on. Adds no hook; routes use its decorators. */
export const accountSessions = plugin<SessionOptions>(
  async (app, { sessions, accounts, members, accountActions, cookies, publicUrl, logger, clock }) => {
    app.decorateRequest('personSession', null)
    app.decorateRequest('actingSession', null)
    const actions = ACTIONS.map((window) => createWindowLimit({ ...window, refusal: ACTIONS_REFUSAL, clock }))

    app.decorate('requireSession', async (request, reply) => {
      requireSameOrigin(request, publicUrl)
      const token = cookies.read(request, 'account')
      if (token === null) throw notSignedIn()
      const stored = await sessions.find(token)
      const person = stored?.accountId != null ? await accounts.find(stored.accountId) : null
      if (!stored || !person || !isPerson(person) || person.state === 'suspended') {
        cookies.clear(reply, 'account')
        throw notSignedIn()
      }
      if (request.method !== 'GET') for (const limit of actions) limit.check(person.id)
      request.personSession = { stored, person }
    })

    app.decorate(
      'requirePermission',
      (permission): Hook =>
        async (request, reply) => {
          await app.requireSession(request, reply)
          const session = signedIn(request)
          const { actingAccountId } = session.stored
          const acting = actingAccountId && (await members.find(actingAccountId, session.person.id))
          const { account, role } = acting || { account: session.person, role: 'owner' as const }
          refuseOtherAccount(request, account)
          request.actingSession = { ...session, account, role }
          refuseUnpermitted(request, permission)
        },
    )

    app.decorate('recordAction', async (request, action, target, details = {}) => {
      const { person, account } = request.actingSession ?? { ...signedIn(request), account: null }
      const accountId = (account ?? person).id
      for (const limit of actions) limit.count(person.id)
      try {
        await accountActions.record({ accountId, personId: person.id, action, target, details })
      } catch (error) {
        logger.error({ err: error, accountId, action, target }, 'account action not recorded')
      }
    })
  },
  { name: 'account-sessions', dependencies: ['send-errors'] },
)

/** The person of a request that `requireSession` accepted. */
export function signedIn({ personSession }: FastifyRequest): PersonSession {
  if (personSession === null) throw new Error('this route does not ask for a session')
  return personSession
}

/** The account of a request that `requirePermission` accepted, and the acting person. */
export function actingOn({ actingSession }: FastifyRequest): ActingSession {
  if (actingSession === null) throw new Error('this route states no permission')
  return actingSession
}

/** The account that the page of a request shows; absent for downloads and event streams, which cannot send it. */
const SHOWN_ACCOUNT_HEADER = 'x-shuntyard-account'

/** Another window may have switched the account since; an action meant for one must not change the other. */
function refuseOtherAccount({ headers }: FastifyRequest, { id }: Account): void {
  const shown = headers[SHOWN_ACCOUNT_HEADER]
  if (shown !== undefined && shown !== id)
    throw new ApiError('conflict', 'You switched accounts in another window. Reloading.', {
      param: SHOWN_ACCOUNT_HEADER,
    })
}

/** Throws ApiError 403 if the role of a request's person does not permit this on the session's account. */
export function refuseUnpermitted(request: FastifyRequest, permission: Permission): void {
  const { role } = actingOn(request)
  if (!isPermitted(role, permission))
    throw new ApiError(
      'not_permitted',
      `Your role in this organisation, ${role}, does not permit this. Ask one of its owners.`,
    )
}

/** Whether a request's person may use, see and change a key of the session's account. */
export function mayUseKey(request: FastifyRequest, key: { createdBy: string | null }): boolean {
  const { role, person } = actingOn(request)
  return isPermitted(role, 'all_keys') || key.createdBy === person.id
}

/** The authority of a request's person over keys of the session's account. */
export const keyAuthority = (request: FastifyRequest): KeyAuthority =>
  isPermitted(actingOn(request).role, 'all_keys') ? 'manager' : 'creator'

export const notSignedIn = (): ApiError =>
  new ApiError('not_signed_in', 'You are not signed in, or your session has ended. Sign in.', {
    challenge: 'Session',
  })
