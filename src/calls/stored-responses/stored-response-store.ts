import type { StoredItem } from '../../core/calls/responses-items.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { ByteSealer } from '../../platform/sealing.ts'

/** The sealing purpose. */
export const STORED_RESPONSE_PURPOSE = 'stored-response'

/** Retention. */
export const STORED_RESPONSE_DAYS = 30
/** Maximum responses of an account; see StoredResponseLimits for their bytes. */
const RESPONSES_PER_ACCOUNT = 50_000
/** The share of its maximum that an account keeps when its oldest responses are evicted. */
const KEPT_SHARE = 0.9
/** Maximum responses of one conversation. */
const CHAIN_MAX = 1_000
const PRUNED_AT_ONCE = 500

/** How long a response in background counts as running after its instance last confirmed it. */
export const RUNNING_FOR_MS = 30_000

/** A response object of the API. */
export type ResponseObject = Record<string, unknown> & { id: string; status: string; output: StoredItem[] }

/** One turn: what it was asked, without the turns before it, and its response. */
export interface StoredTurn {
  response: ResponseObject
  input: StoredItem[]
}

export interface StoredResponse extends StoredTurn {
  /** `lost`: its instance ended without its result. */
  state: 'ended' | 'running' | 'cancelled' | 'lost'
}

/** A response to store. */
export interface TurnToStore {
  callId: CallId
  accountId: string
  previousId: string | null
  /** A StoredTurn, JSON. */
  turn: string
  isRunning: boolean
}

/** Maximum bytes of stored responses. */
export interface StoredResponseLimits {
  bytesPerAccount: number
  bytesInAll: number
}

interface Row {
  callId: string
  previousId: string | null
  sealed: Buffer
  state: StoredResponse['state']
}

/** Binds a response to its account and call. */
const contextOf = (accountId: string, callId: string): string => `${accountId}/${callId}`

/** At most the account's own maximum, and as much as is left for all others. A response that is stored already stays. */
const PUT = `
INSERT INTO stored_responses (call_id, account_id, previous_id, sealed, running_until, expires_at)
SELECT $1, $2, $3, $4::bytea, now() + $5 * interval '1 ms', now() + ${STORED_RESPONSE_DAYS} * interval '1 day'
FROM accounts LEFT JOIN stored_response_totals AS own ON own.account_id = accounts.id
WHERE accounts.id = $2 AND deleted_at IS NULL AND coalesce(own.responses, 0) < ${RESPONSES_PER_ACCOUNT}
  AND octet_length($4::bytea) + coalesce(own.bytes, 0)
    <= least($6::bigint, $7::bigint - (SELECT coalesce(sum(bytes), 0) FROM stored_response_totals))
ON CONFLICT (call_id) DO UPDATE SET expires_at = stored_responses.expires_at WHERE stored_responses.account_id = $2
RETURNING call_id`

/** Deletes the oldest responses of an account, except running ones, until there is space for one of $2 bytes. */
const EVICT = `
DELETE FROM stored_responses WHERE call_id IN (
  SELECT call_id FROM (
    SELECT call_id, running_until, row_number() OVER newest AS number, sum(octet_length(sealed)) OVER newest AS bytes
    FROM stored_responses WHERE account_id = $1 WINDOW newest AS (ORDER BY call_id DESC)
  ) AS kept
  WHERE (number > ${RESPONSES_PER_ACCOUNT * KEPT_SHARE} OR bytes > $3::bigint * ${KEPT_SHARE} - $2)
    AND (running_until IS NULL OR running_until < now()))`

const STATE = `
CASE WHEN cancelled THEN 'cancelled' WHEN running_until IS NULL THEN 'ended'
  WHEN running_until > now() THEN 'running' ELSE 'lost' END AS state`

const FIND = `
SELECT call_id AS "callId", previous_id AS "previousId", sealed, ${STATE} FROM stored_responses
WHERE account_id = $1 AND call_id = ANY($2) AND expires_at > now()`

/** Maximum responses in an export, which is one response, and their bytes. */
const EXPORTED_MAX = 50
const EXPORTED_BYTES_MAX = 16 * 1024 * 1024

const LATEST = `
SELECT call_id AS "callId", previous_id AS "previousId", sealed, state FROM (
  SELECT *, ${STATE}, sum(octet_length(sealed)) OVER (ORDER BY call_id DESC) AS bytes FROM stored_responses
  WHERE account_id = $1 AND expires_at > now() ORDER BY call_id DESC LIMIT ${EXPORTED_MAX}
) AS newest WHERE bytes <= ${EXPORTED_BYTES_MAX}`

/** A response and those it continues, newest first, as far as $3 bytes and ${CHAIN_MAX} responses. */
const CHAIN = `
WITH RECURSIVE chain AS (
  SELECT call_id, previous_id, 1 AS number, octet_length(sealed)::bigint AS bytes FROM stored_responses
  WHERE account_id = $1 AND call_id = $2 AND expires_at > now()
  UNION ALL
  SELECT earlier.call_id, earlier.previous_id, number + 1, bytes + octet_length(earlier.sealed)
  FROM chain JOIN stored_responses AS earlier ON earlier.call_id = chain.previous_id AND earlier.account_id = $1
  WHERE earlier.expires_at > now() AND number <= ${CHAIN_MAX} AND bytes <= $3
)
SELECT call_id AS "callId", chain.previous_id AS "previousId", ${STATE}, number, bytes,
  CASE WHEN number <= ${CHAIN_MAX} AND bytes <= $3 THEN sealed END AS sealed
FROM chain JOIN stored_responses USING (call_id) ORDER BY number`

/** The responses that a new one continues, oldest first. */
export type Chain =
  | { kind: 'found'; turns: StoredTurn[]; bytes: number }
  /** The response itself, or one that it continues, does not exist for this account. */
  | { kind: 'missing'; id: string }
  | { kind: 'too-long' }
  /** It still runs, or has failed or was cancelled. */
  | { kind: 'unfinished' }

/** Stored responses in PostgreSQL, sealed under the master key and bound to their account and call. */
export type StoredResponseStore = ReturnType<typeof createStoredResponseStore>

export function createStoredResponseStore(
  { plain }: Pick<Postgres, 'plain'>,
  sealer: ByteSealer,
  limits: StoredResponseLimits,
) {
  const seal = (accountId: string, callId: string, turn: string) =>
    sealer.sealBytes(turn, contextOf(accountId, callId))
  const opened = (accountId: string, { callId, sealed, state }: Row): StoredResponse => ({
    ...(JSON.parse(sealer.openBytes(sealed, contextOf(accountId, callId))) as StoredTurn),
    state,
  })
  const find = async (accountId: string, ids: readonly string[]): Promise<StoredResponse[]> =>
    (await plain.query<Row>(FIND, [accountId, ids])).map((row) => opened(accountId, row))
  return {
    /**
     * Stores a response; the oldest of its account give way. Returns false if nothing was stored: it is longer than the
     * account may store, or all accounts together have reached their maximum.
     */
    async put({ callId, accountId, previousId, turn, isRunning }: TurnToStore): Promise<boolean> {
      const sealed = seal(accountId, callId, turn)
      const { bytesPerAccount, bytesInAll } = limits
      const lease = isRunning ? RUNNING_FOR_MS : null
      const row = [callId, accountId, previousId, sealed, lease, bytesPerAccount, bytesInAll]
      const isPut = async () => (await plain.query(PUT, row)).length > 0
      if (await isPut()) return true
      if (sealed.length > bytesPerAccount * KEPT_SHARE) return false
      await plain.query(EVICT, [accountId, sealed.length, bytesPerAccount])
      return isPut()
    },

    /** Stores the end of a response in background, unless it was deleted. */
    async end({
      callId,
      accountId,
      turn,
    }: Pick<TurnToStore, 'callId' | 'accountId' | 'turn'>): Promise<void> {
      const sealed = seal(accountId, callId, turn)
      await plain.query(
        'UPDATE stored_responses SET sealed = $3::bytea, running_until = NULL WHERE call_id = $1 AND account_id = $2',
        [callId, accountId, sealed],
      )
    },

    /** A response of an account; null if there is none. */
    find: async (accountId: string, id: string): Promise<StoredResponse | null> =>
      (await find(accountId, [id]))[0] ?? null,

    /** Null: there is no such response. */
    async state(accountId: string, id: string): Promise<StoredResponse['state'] | null> {
      const rows = await plain.query<Pick<Row, 'state'>>(
        `SELECT ${STATE} FROM stored_responses WHERE account_id = $1 AND call_id = $2 AND expires_at > now()`,
        [accountId, id],
      )
      return rows[0]?.state ?? null
    },

    /** The latest responses of an account, for its export. */
    latest: async (accountId: string): Promise<StoredTurn[]> =>
      (await plain.query<Row>(LATEST, [accountId])).map((row) => {
        const { input, response } = opened(accountId, row)
        return { input, response }
      }),

    /** Those of some responses that the account has. */
    findAll: find,

    /** The responses that a new one continues, of `maxBytes` at most. */
    async chain(accountId: string, id: string, maxBytes: number): Promise<Chain> {
      type ChainRow = Omit<Row, 'sealed'> & { sealed: Buffer | null; bytes: string }
      const rows = await plain.query<ChainRow>(CHAIN, [accountId, id, maxBytes])
      const [last, first] = [rows[0], rows.at(-1)]
      if (!last || !first) return { kind: 'missing', id }
      if (last.state !== 'ended') return { kind: 'unfinished' }
      if (first.sealed === null) return { kind: 'too-long' }
      if (first.previousId !== null) return { kind: 'missing', id: first.previousId }
      const turns = rows.reverse().map((row) => opened(accountId, { ...row, sealed: row.sealed! }))
      const { status } = turns.at(-1)!.response
      if (status !== 'completed' && status !== 'incomplete') return { kind: 'unfinished' }
      return { kind: 'found', turns, bytes: Number(first.bytes) }
    },

    /** Returns false if the account has no such response. One that still runs is ended. */
    async delete(accountId: string, id: string): Promise<boolean> {
      const deleted = await plain.query(
        'DELETE FROM stored_responses WHERE account_id = $1 AND call_id = $2 AND expires_at > now() RETURNING call_id',
        [accountId, id],
      )
      return deleted.length > 0
    },

    /** Cancels a response that runs; its instance ends its call. Has no effect on others. */
    async cancel(accountId: string, id: string): Promise<void> {
      await plain.query(
        'UPDATE stored_responses SET cancelled = true WHERE account_id = $1 AND call_id = $2 AND running_until > now()',
        [accountId, id],
      )
    },

    /** Confirms that some responses run. Returns those that are neither cancelled nor deleted. */
    async renew(ids: readonly string[]): Promise<ReadonlySet<string>> {
      const rows = await plain.query<{ callId: string; cancelled: boolean }>(
        `UPDATE stored_responses SET running_until = now() + ${RUNNING_FOR_MS} * interval '1 ms'
         WHERE call_id = ANY($1) AND running_until IS NOT NULL RETURNING call_id AS "callId", cancelled`,
        [ids],
      )
      return new Set(rows.flatMap(({ callId, cancelled }) => (cancelled ? [] : [callId])))
    },
  }
}

/** Deletes expired responses. */
export async function pruneStoredResponses(postgres: Postgres): Promise<void> {
  let deleted: number
  do {
    deleted = await postgres.$executeRaw`
      DELETE FROM stored_responses WHERE call_id IN (
        SELECT call_id FROM stored_responses WHERE expires_at <= now() LIMIT ${PRUNED_AT_ONCE})`
  } while (deleted === PRUNED_AT_ONCE)
}
