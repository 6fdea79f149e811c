import type { KeptReasoning } from '../../core/calls/completion.ts'
import type { Sealer } from '../../platform/sealing.ts'

/** The sealing purpose. */
export const REASONING_PURPOSE = 'reasoning'

export type ReasoningBox = ReturnType<typeof createReasoningBox>

export type SealReasoning = (reasoning: KeptReasoning) => string

/** Begins what is more than the text of reasoning, which holds no such character. */
const SIGNED = '\0'

/** Encrypts reasoning so that a client can pass it back; only the account that received it can. */
export const createReasoningBox = (sealer: Sealer) => ({
  sealer:
    (accountId: string): SealReasoning =>
    ({ text, signed }) =>
      sealer.seal(signed.length > 0 ? SIGNED + JSON.stringify({ text, signed }) : text, accountId),

  /** Opens what this gateway encrypted for the account; null for all else, such as the reasoning of another service. */
  opener:
    (accountId: string) =>
    (encrypted: string): KeptReasoning | null => {
      try {
        const opened = sealer.open(encrypted, accountId)
        return opened.startsWith(SIGNED)
          ? (JSON.parse(opened.slice(SIGNED.length)) as KeptReasoning)
          : { text: opened, signed: [] }
      } catch {
        // Its caller reports that it was left out.
        return null
      }
    },
})
