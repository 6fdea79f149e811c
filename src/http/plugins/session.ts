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

/** A person who is signed in. What is theirs alone (password, second factor, sessions, email) goes by `person`. */
export interface PersonSession {
  stored: StoredSession
  person: Person
}

/** The account that a person acts on: their own, or an organisation that they are a member of. */
export interface ActingSession extends PersonSession {
  account: Account
  /** Of their own account a person is the owner. */
  role: MemberRole
}

const SECOND_MS = 1_000
/** Audited actions of a person: each is a row that stays. */
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
     * An onRequest hook for what is a person's own: 401 unless somebody is signed in, 403 where another site's page
     * asks for a change. Reads PostgreSQL, so that what ends a session ends it at once.
     */
    requireSession: Hook
    /** An onRequest hook for what is an account's: the same, and 403 where the role of the person does not permit it. */
    requirePermission(permission: Permission): Hook
    /**
     * Records what the person of a request did to the account they act on, or to their own. It has been done: a
     * failure is logged, and fails no request.
     */
    recordAction(
      request: FastifyRequest,
      action: AccountActionName,
      target: string,
      details?: ActionDetails,
    ): Promise<void>
  }
}

/** Sessions of people, and the accounts they act on. Adds no hook; routes ask for it. */
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
        logger.error({ err: error, accountId, action, target }, 'an account action could not be recorded')
      }
    })
  },
  { name: 'account-sessions', dependencies: ['answer-errors'] },
)

/** The person of a request that `requireSession` let through. */
export function signedIn({ personSession }: FastifyRequest): PersonSession {
  if (personSession === null) throw new Error('this route does not ask for a session')
  return personSession
}

/** The account of a request that `requirePermission` let through, and who acts on it. */
export function actingOn({ actingSession }: FastifyRequest): ActingSession {
  if (actingSession === null) throw new Error('this route states no permission')
  return actingSession
}

/** The account that the page of a request shows; absent for downloads and event streams, which cannot say it. */
const SHOWN_ACCOUNT_HEADER = 'switchyard-account'

/** Another window may have chosen another account since: what is meant for one must not happen to the other. */
function refuseOtherAccount({ headers }: FastifyRequest, { id }: Account): void {
  const shown = headers[SHOWN_ACCOUNT_HEADER]
  if (shown !== undefined && shown !== id)
    throw new ApiError('conflict', 'You act on another account now. This page is read anew.', {
      param: SHOWN_ACCOUNT_HEADER,
    })
}

/** Throws ApiError 403 where the role of a request's person does not permit this on the account they act on. */
export function refuseUnpermitted(request: FastifyRequest, permission: Permission): void {
  const { role } = actingOn(request)
  if (!isPermitted(role, permission))
    throw new ApiError(
      'not_permitted',
      `Your role in this organisation, ${role}, does not permit this. Ask one of its owners.`,
    )
}

/** Whether a request's person may use, see and change a key of the account they act on. */
export function mayUseKey(request: FastifyRequest, key: { createdBy: string | null }): boolean {
  const { role, person } = actingOn(request)
  return isPermitted(role, 'all_keys') || key.createdBy === person.id
}

/** As whom a request's person changes keys of the account they act on. */
export const keyAuthority = (request: FastifyRequest): KeyAuthority =>
  isPermitted(actingOn(request).role, 'all_keys') ? 'manager' : 'creator'

export const notSignedIn = (): ApiError =>
  new ApiError('not_signed_in', 'You are not signed in, or your session has ended. Sign in.', {
    challenge: 'Session',
  })
