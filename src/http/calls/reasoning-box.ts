import type { Sealer } from '../../platform/sealing.ts'

/** The sealing purpose. */
export const REASONING_PURPOSE = 'reasoning'

export type ReasoningBox = ReturnType<typeof createReasoningBox>

/** Encrypts reasoning so that a client can pass it back; only the account that received it can. */
export const createReasoningBox = (sealer: Sealer) => ({
  sealer:
    (accountId: string) =>
    (text: string): string =>
      sealer.seal(text, accountId),

  /** Opens what this gateway encrypted for the account; null for all else, such as the reasoning of another service. */
  opener:
    (accountId: string) =>
    (encrypted: string): string | null => {
      try {
        return sealer.open(encrypted, accountId)
      } catch {
        // Its caller reports that it was left out.
        return null
      }
    },
})
