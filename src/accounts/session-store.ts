import type { Postgres } from '../platform/postgres/postgres.ts'
import { hashOfToken, isToken, newToken } from './secret-token.ts'

/**
 * The signed-in user: an account holder with this password hash (null: the account has no password), or an operator
 * with an admin key or by single sign-on.
 */
export type SessionOwner =
  | { accountId: string; passwordHash: string | null }
  | { keyId: string }
  | { operatorId: string }

/** The client of a session, for its list. */
export interface SessionClient {
  networkAddress: string
  userAgent: string
}

/** A session as shown to its holder. */
export interface ListedSession extends SessionClient {
  id: string
  createdAt: Date
  /** Accurate to `USED_EVERY_MS`. */
  lastUsedAt: Date
}

export interface StoredSession {
  /** Identifies the session without granting access. */
  id: string
  accountId: string | null
  keyId: string | null
  /** The organisation that the session acts on; null: the person's own account. */
  actingAccountId: string | null
  operatorId: string | null
  expiresAt: Date
}

/**
 * Browser sessions. The token in a cookie is 256 random bits; only its SHA-256 is stored, so that read access to
 * the table does not allow signing in. A session ends by expiry, by sign-out, or together with all of its account.
 */
export type SessionStore = ReturnType<typeof createSessionStore>

/** A working day. */
export const OPERATOR_SESSION_MS = 12 * 3_600_000

/** Maximum sessions; a further sign-in ends the oldest one. */
const SESSIONS_PER_ACCOUNT_MAX = 50
const USER_AGENT_LENGTH_MAX = 300
/** How often the time of last use is written, because a session is read with every request. */
const USED_EVERY_MS = 10 * 60_000

const TIDY = `
DELETE FROM console_sessions WHERE token_hash IN (
  (SELECT token_hash FROM console_sessions WHERE expires_at < now() LIMIT 100)
  UNION ALL
  (SELECT token_hash FROM console_sessions WHERE account_id = $1 ORDER BY created_at DESC OFFSET $2)
)`

/** Waits for a concurrent change of password or state, and reads its result. */
const BEGIN = `
INSERT INTO console_sessions (token_hash, account_id, expires_at, user_agent, network_address)
SELECT $1, account.id, $4, $5, $6
FROM accounts AS account JOIN account_credentials AS credential ON credential.account_id = account.id
WHERE account.id = $2 AND credential.password_hash = $3 AND account.state <> 'suspended'
FOR SHARE OF account, credential`

/** The same for an account without a password. */
const BEGIN_WITHOUT_PASSWORD = `
INSERT INTO console_sessions (token_hash, account_id, expires_at, user_agent, network_address)
SELECT $1, account.id, $3, $4, $5 FROM accounts AS account
WHERE account.id = $2 AND account.state <> 'suspended'
  AND NOT EXISTS (SELECT FROM account_credentials WHERE account_id = account.id)
FOR SHARE OF account`

/** A concurrently disabled operator gets none. */
const BEGIN_OF_OPERATOR = `
INSERT INTO console_sessions (token_hash, operator_id, expires_at, user_agent, network_address)
SELECT $1, operator.id, $3, $4, $5 FROM operators AS operator
WHERE operator.id = $2 AND operator.state = 'active'
FOR SHARE OF operator`

/** Falls back to the person's own account if the membership has ended or the organisation is suspended. */
const RUNNING = `
SELECT encode(session.token_hash, 'hex') AS "id", coalesce(organisation.id, account.id) AS "accountId"
FROM console_sessions AS session JOIN accounts AS account ON account.id = session.account_id
LEFT JOIN organisation_members AS member
  ON member.account_id = session.acting_account_id AND member.person_id = session.account_id
LEFT JOIN accounts AS organisation ON organisation.id = member.account_id AND organisation.state <> 'suspended'
WHERE session.token_hash IN (SELECT decode(id, 'hex') FROM unnest($1::text[]) AS given (id))
  AND session.expires_at > now() AND account.state <> 'suspended'`

export function createSessionStore(postgres: Postgres) {
  return {
    /**
     * Begins a session. Null if the account's password changed since the check, the account is suspended, or the
     * operator is disabled: these end all sessions, so none may begin with outdated credentials.
     */
    async create(
      owner: SessionOwner,
      ttlMs: number,
      { networkAddress, userAgent }: SessionClient,
    ): Promise<{ token: string; session: StoredSession } | null> {
      const token = newToken()
      const row = {
        tokenHash: hashOfToken(token),
        accountId: 'accountId' in owner ? owner.accountId : null,
        keyId: 'keyId' in owner ? owner.keyId : null,
        actingAccountId: null,
        operatorId: 'operatorId' in owner ? owner.operatorId : null,
        expiresAt: new Date(Date.now() + ttlMs),
        networkAddress,
        userAgent: userAgent.slice(0, USER_AGENT_LENGTH_MAX),
      }
      await postgres.$executeRawUnsafe(TIDY, row.accountId, SESSIONS_PER_ACCOUNT_MAX - 1)
      const where = [row.expiresAt, row.userAgent, networkAddress]
      if ('operatorId' in owner) {
        const { operatorId } = owner
        if ((await postgres.$executeRawUnsafe(BEGIN_OF_OPERATOR, row.tokenHash, operatorId, ...where)) === 0)
          return null
      } else if ('accountId' in owner) {
        const { accountId, passwordHash } = owner
        const begun =
          passwordHash === null
            ? await postgres.$executeRawUnsafe(BEGIN_WITHOUT_PASSWORD, row.tokenHash, accountId, ...where)
            : await postgres.$executeRawUnsafe(BEGIN, row.tokenHash, accountId, passwordHash, ...where)
        if (begun === 0) return null
      } else await postgres.consoleSession.create({ data: row })
      return { token, session: toSession(row) }
    },

    /** The session of a token; null if it has ended or never existed. */
    async find(token: string): Promise<StoredSession | null> {
      if (!isToken(token)) return null
      const row = await postgres.consoleSession.findUnique({ where: { tokenHash: hashOfToken(token) } })
      if (!row || row.expiresAt.getTime() <= Date.now()) return null
      if (row.lastUsedAt.getTime() < Date.now() - USED_EVERY_MS)
        await postgres.consoleSession.updateMany({
          where: { tokenHash: row.tokenHash },
          data: { lastUsedAt: new Date() },
        })
      return toSession(row)
    },

    /** Unexpired sessions of an account, last used first. */
    async list(accountId: string): Promise<ListedSession[]> {
      const rows = await postgres.consoleSession.findMany({
        where: { accountId, expiresAt: { gt: new Date() } },
        orderBy: [{ lastUsedAt: 'desc' }, { createdAt: 'desc' }],
      })
      return rows.map((row) => ({ ...row, id: idOf(row.tokenHash) }))
    },

    /** Ends a session of this account; false if it has none with that id. */
    async endOf(accountId: string, sessionId: string): Promise<boolean> {
      const tokenHash = Buffer.from(sessionId, 'hex')
      const { count } = await postgres.consoleSession.deleteMany({ where: { accountId, tokenHash } })
      return count > 0
    },

    /** Ends all sessions of an account but one. */
    async endOthers(accountId: string, keptId: string): Promise<void> {
      await postgres.consoleSession.deleteMany({
        where: { accountId, tokenHash: { not: Buffer.from(keptId, 'hex') } },
      })
    },

    async end(sessionId: string): Promise<void> {
      await postgres.consoleSession.deleteMany({ where: { tokenHash: Buffer.from(sessionId, 'hex') } })
    },

    /** Those of the given sessions of people that are still active, with the account that each acts on. */
    async running(sessionIds: readonly string[]): Promise<Map<string, string>> {
      const rows = await postgres.$queryRawUnsafe<Array<{ id: string; accountId: string }>>(
        RUNNING,
        sessionIds,
      )
      return new Map(rows.map(({ id, accountId }) => [id, accountId]))
    },

    /** Lets a session act on an organisation; null: on the person's own account. */
    async actOn(sessionId: string, actingAccountId: string | null): Promise<void> {
      await postgres.consoleSession.updateMany({
        where: { tokenHash: Buffer.from(sessionId, 'hex') },
        data: { actingAccountId },
      })
    },
  }
}

const idOf = (tokenHash: Uint8Array): string => Buffer.from(tokenHash).toString('hex')

const toSession = (row: {
  tokenHash: Uint8Array
  accountId: string | null
  keyId: string | null
  actingAccountId: string | null
  operatorId: string | null
  expiresAt: Date
}): StoredSession => ({
  id: idOf(row.tokenHash),
  accountId: row.accountId,
  keyId: row.keyId,
  actingAccountId: row.actingAccountId,
  operatorId: row.operatorId,
  expiresAt: row.expiresAt,
})
