import { runInterruptibly } from '../../../platform/process/interruptible.ts'

/** How long the conversion of a call may hold the event loop, ms. The largest bodies take some tens. */
const HOLD_MAX_MS = 2_000

interface ConversionBounds {
  /** The call may have held an event loop before: its worker was lost. */
  isSuspect: boolean
  onHold: (heldMs: number) => void
  maxMs?: number
  /** Monotonic ms. */
  now?: () => number
}

/**
 * Converts the request of one call for its providers. A call that held the event loop once, or whose worker was lost, is
 * interrupted the next time; a call without a past is only measured, since a thread for each would be dear.
 * Throws Interrupted.
 */
export function boundedConversions({
  isSuspect,
  onHold,
  maxMs = HOLD_MAX_MS,
  now = () => performance.now(),
}: ConversionBounds): <T>(convert: () => T) => T {
  let mayHold = !isSuspect
  return (convert) => {
    if (!mayHold) return runInterruptibly(maxMs, convert)
    const startedAt = now()
    const converted = convert()
    const heldMs = now() - startedAt
    if (heldMs > maxMs) {
      mayHold = false
      onHold(heldMs)
    }
    return converted
  }
}
