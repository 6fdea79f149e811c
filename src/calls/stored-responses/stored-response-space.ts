import type { Postgres } from '../../platform/postgres/postgres.ts'

/** Maximum responses of an account; see StoredResponseLimits for their bytes. */
const RESPONSES_PER_ACCOUNT = 50_000
/** The share of its bytes that an account keeps when its oldest responses are evicted. */
const KEPT_SHARE = 0.9
/** How long the sum over all accounts is used. What others store meanwhile may exceed the maximum. */
const SUM_KEPT_MS = 10_000

/** Maximum bytes of stored responses. */
export interface StoredResponseLimits {
  bytesPerAccount: number
  bytesInAll: number
}

export interface SealedResponse {
  callId: string
  accountId: string
  keyId: string
  previousId: string | null
  sealed: Buffer
  sealedInput: Buffer
  runningForMs: number | null
  keptForDays: number
}

/** At most the account's own maximum. A response that is stored already stays. */
const PUT = `
INSERT INTO stored_responses (call_id, account_id, key_id, previous_id, sealed, sealed_input, running_until, expires_at)
SELECT $1, $2, $3, $4, $5::bytea, $6::bytea, now() + $7 * interval '1 ms', now() + $8 * interval '1 day'
FROM accounts LEFT JOIN stored_response_totals AS own ON own.account_id = accounts.id
WHERE accounts.id = $2 AND deleted_at IS NULL AND coalesce(own.responses, 0) < ${RESPONSES_PER_ACCOUNT}
  AND octet_length($5::bytea) + octet_length($6::bytea) + coalesce(own.bytes, 0) <= $9::bigint
ON CONFLICT (call_id) DO UPDATE SET expires_at = stored_responses.expires_at WHERE stored_responses.account_id = $2
RETURNING call_id`

/**
 * Deletes the oldest responses of an account, except running ones, until there is space for $2 bytes within $3.
 */
const EVICT = `
DELETE FROM stored_responses WHERE call_id IN (
  SELECT call_id FROM (
    SELECT call_id, running_until, row_number() OVER newest AS number,
      sum(octet_length(sealed) + coalesce(octet_length(sealed_input), 0)) OVER newest AS bytes
    FROM stored_responses WHERE account_id = $1 WINDOW newest AS (ORDER BY call_id DESC)
  ) AS kept
  WHERE (number > ${RESPONSES_PER_ACCOUNT * KEPT_SHARE} OR bytes > $3::bigint * ${KEPT_SHARE} - $2)
    AND (running_until IS NULL OR running_until < now()))`

/** The account that stores most, and the bytes of account $1. */
const LARGEST = `
SELECT account_id AS "accountId", bytes::text,
  coalesce((SELECT bytes FROM stored_response_totals WHERE account_id = $1), 0)::text AS "ownBytes"
FROM stored_response_totals ORDER BY stored_response_totals.bytes DESC LIMIT 1`

/**
 * The space of stored responses. An account has its own maximum. Where all accounts together have reached theirs, the
 * one that stores most gives way to one that stores less, so that many accounts cannot keep another from storing.
 */
export function createStoredResponseSpace(
  plain: Postgres['plain'],
  { bytesPerAccount, bytesInAll }: StoredResponseLimits,
) {
  let sum = { bytes: 0, until: 0 }
  const readSum = async () => {
    const [row] = await plain.query<{ bytes: string }>(
      'SELECT coalesce(sum(bytes), 0)::text AS bytes FROM stored_response_totals',
      [],
    )
    sum = { bytes: Number(row!.bytes), until: performance.now() + SUM_KEPT_MS }
  }
  /** Makes space within the maximum of all accounts. False: no account stores more than this one would. */
  const makeRoom = async (accountId: string, bytes: number): Promise<boolean> => {
    const fits = () => sum.bytes + bytes <= bytesInAll
    if (performance.now() < sum.until && fits()) return true
    await readSum()
    if (fits()) return true
    const [largest] = await plain.query<{ accountId: string; bytes: string; ownBytes: string }>(LARGEST, [
      accountId,
    ])
    if (!largest) return false
    const givesWay = Number(largest.bytes) > Number(largest.ownBytes) + bytes
    const victim = givesWay ? largest : { accountId, bytes: largest.ownBytes }
    await plain.query(EVICT, [victim.accountId, bytes, victim.bytes])
    await readSum()
    return fits()
  }
  return {
    /** Returns false if there is no space. */
    async put(response: SealedResponse): Promise<boolean> {
      const { callId, accountId, keyId, previousId, sealed, sealedInput, runningForMs, keptForDays } =
        response
      const bytes = sealed.length + sealedInput.length
      if (bytes > bytesPerAccount || !(await makeRoom(accountId, bytes))) return false
      const row = [callId, accountId, keyId, previousId, sealed, sealedInput, runningForMs, keptForDays]
      const isPut = async () => (await plain.query(PUT, [...row, bytesPerAccount])).length > 0
      let isStored = await isPut()
      if (!isStored && bytes <= bytesPerAccount * KEPT_SHARE) {
        await plain.query(EVICT, [accountId, bytes, bytesPerAccount])
        isStored = await isPut()
      }
      if (isStored) sum.bytes += bytes
      return isStored
    },
  }
}
