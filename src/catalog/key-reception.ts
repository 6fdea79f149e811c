import type { Postgres } from '../platform/postgres/postgres.ts'

/** A provider's verdict on a BYOK key; a refusal has the reason that its owner sees. */
export type KeyReception = 'accepted' | 'unauthorized' | 'payment_required' | 'forbidden'

/** Consecutive refusals after which a key counts as failing. */
const REFUSALS_TO_FAIL = 3

const NOTE_REFUSAL = `
UPDATE provider_keys SET
  refusals = refusals + 1, last_error = $2, last_error_at = now(),
  failing_since = CASE WHEN refusals + 1 >= $3::int THEN coalesce(failing_since, now()) ELSE failing_since END
WHERE id = $1`

const NOTE_ACCEPTED = `
UPDATE provider_keys SET refusals = 0, failing_since = NULL, accepted_at = now()
WHERE id = $1 AND (refusals > 0 OR accepted_at IS NULL)`

/** Stores a provider's verdict on a key. Rejects while PostgreSQL is unavailable. */
export async function writeReception(
  postgres: Pick<Postgres, '$executeRawUnsafe'>,
  keyId: string,
  reception: KeyReception,
): Promise<void> {
  if (reception === 'accepted') await postgres.$executeRawUnsafe(NOTE_ACCEPTED, keyId)
  else await postgres.$executeRawUnsafe(NOTE_REFUSAL, keyId, reception, REFUSALS_TO_FAIL)
}
