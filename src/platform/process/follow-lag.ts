import { pollEvery } from './poll-every.ts'

export interface LagOptions {
  /** How far the copy is behind, ms. Rejects when that is unknown. */
  readLag: () => Promise<number>
  /** A copy that is further behind is not usable. */
  lagMaxMs: number
  everyMs: number
  /** Called after each reading; null: unknown. */
  onLag: (lagMs: number | null) => void
  /** The copy stopped being usable, or is not at the start. */
  onAway: (error: unknown) => void
  onBack: () => void
}

/** Watches a copy of data that may be behind. It is usable from the first reading on that is within the bound. */
export async function followLag({ readLag, lagMaxMs, everyMs, onLag, onAway, onBack }: LagOptions) {
  let isUsable = false
  let isTold = false
  const read = async (): Promise<void> => {
    try {
      const lagMs = await readLag()
      onLag(lagMs)
      if (lagMs > lagMaxMs) throw new Error('the copy is too far behind')
      isUsable = true
      if (isTold) onBack()
      isTold = false
    } catch (error) {
      isUsable = false
      throw error
    }
  }
  const away = (error: unknown) => {
    isTold = true
    onLag(null)
    onAway(error)
  }
  const first = await read().catch((error: unknown) => ({ error }))
  if (first) away(first.error)
  const stop = pollEvery(everyMs, read, away)
  return { isUsable: () => isUsable, stop }
}
