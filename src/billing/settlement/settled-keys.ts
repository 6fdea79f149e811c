import type { CallId } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'

/** How long an Idempotency-Key stands for the call that was charged by it, from when that was admitted. */
export const KEY_RETENTION_MS = 86_400_000

const FIND = `
SELECT call_id AS "callId" FROM idempotency_keys
WHERE account_id = $1 AND key_digest = $2 AND admitted_at_ms > extract(epoch FROM now()) * 1000 - ${KEY_RETENTION_MS}`

/** The settled call of an account that an Idempotency-Key stands for, by the digest of the key. */
export async function findSettledKey(
  postgres: Postgres,
  accountId: string,
  digest: string,
): Promise<CallId | null> {
  const [row] = await postgres.$queryRawUnsafe<Array<{ callId: CallId }>>(FIND, accountId, digest)
  return row?.callId ?? null
}

/** Keys that are deleted in one run. */
const PRUNED_AT_ONCE = 10_000

const PRUNE = `
DELETE FROM idempotency_keys WHERE (account_id, key_digest) IN (
  SELECT account_id, key_digest FROM idempotency_keys
  WHERE admitted_at_ms < extract(epoch FROM now()) * 1000 - 2 * ${KEY_RETENTION_MS}
  ORDER BY admitted_at_ms LIMIT ${PRUNED_AT_ONCE}
)`

/** Deletes keys that stand for nothing any more. They stay twice as long as they do: settlements may come late. */
export async function pruneSettledKeys(postgres: Postgres): Promise<void> {
  await postgres.$executeRawUnsafe(PRUNE)
}
