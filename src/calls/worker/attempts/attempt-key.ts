import type { ByokKeyVault, VaultResult } from '../../../byok/byok-key-vault.ts'
import type { AttemptOutcome } from '../../../core/calls/attempt-outcome.ts'
import { type AttemptFailure, attemptFailure } from '../../../core/failover/attempt-failure.ts'
import { withTimeout } from '../../../platform/process/with-timeout.ts'
import type { AttemptPlan } from './attempt-plan.ts'

type AttemptKey =
  /** The only platform key. */
  | { kind: 'ours' }
  /** The client's BYOK key, or one of several platform keys. */
  | { kind: 'chosen'; secret: string }
  /** The client's BYOK key is not available, so there is nothing to try. */
  | { kind: 'failed'; failure: AttemptFailure }

const OPEN_WITHIN_MS = 2_000

/** Finds the key of an attempt. Never rejects. */
export async function keyOfAttempt(
  { candidate, offer, poolKey }: AttemptPlan,
  accountId: string,
  vault: Pick<ByokKeyVault, 'open'>,
): Promise<AttemptKey> {
  const { providerKeyId: keyId } = candidate
  if (keyId === undefined)
    return poolKey?.secret ? { kind: 'chosen', secret: poolKey.secret } : { kind: 'ours' }
  const unavailable: VaultResult = { kind: 'unavailable' }
  const opening = vault.open({ keyId, accountId, providerId: offer.provider.id })
  // The vault never rejects; a failure is a result.
  const answer = await withTimeout(opening, OPEN_WITHIN_MS, unavailable)
  switch (answer.kind) {
    case 'opened':
      return { kind: 'chosen', secret: answer.secret }
    case 'gone':
      return { kind: 'failed', failure: attemptFailure('refused', "the client's BYOK key is in use no more") }
    case 'unavailable':
      return {
        kind: 'failed',
        failure: attemptFailure('key-unavailable', "the client's BYOK key could not be looked up"),
      }
    default:
      return answer satisfies never
  }
}

/** Reports the provider's verdict on the client's BYOK key to the vault, if the outcome contains one. */
export function noteReception(
  keyId: string,
  outcome: AttemptOutcome,
  vault: Pick<ByokKeyVault, 'note'>,
): void {
  if (outcome.kind === 'finished' || outcome.kind === 'expired') return vault.note(keyId, 'accepted')
  if (outcome.kind !== 'failed') return
  const { httpStatus, kind, isLate } = outcome.failure
  const isUnreachable = httpStatus === null && (kind === 'connect' || kind === 'reset')
  if (isUnreachable && !isLate) vault.note(keyId, 'unreachable')
  if (kind !== 'refused') return
  // 404 concerns the model, and without a status no request was sent. One wire refuses a key with a 400.
  if (httpStatus === 401 || httpStatus === 400) vault.note(keyId, 'unauthorized')
  if (httpStatus === 402) vault.note(keyId, 'payment_required')
  if (httpStatus === 403) vault.note(keyId, 'forbidden')
}
