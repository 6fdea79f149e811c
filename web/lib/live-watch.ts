const STALE_AFTER_MS = 4_000
/** A connection that was open for so long without a word hangs. */
const HANGS_AFTER_MS = 10_000
const REOPEN_AFTER_MS = 3_000

/** What to do about a stream that should say something every second: `silentMs` since its last word. */
export function nextLiveStep(stream: { silentMs: number; openMs: number; isClosed: boolean }): {
  isStale: boolean
  reopen: boolean
} {
  const { silentMs, openMs, isClosed } = stream
  const hangs = silentMs >= HANGS_AFTER_MS && openMs >= HANGS_AFTER_MS
  return {
    isStale: silentMs >= STALE_AFTER_MS,
    reopen: isClosed ? openMs >= REOPEN_AFTER_MS : hangs,
  }
}
