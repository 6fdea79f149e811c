import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, vi } from 'vitest'

/** More than the client, in this process, takes to read what a provider has written. */
const TURNS = 20
const READ_MS = 20

/** In this suite timers stand still but for `pass`: a busy machine makes no limit of time expire. */
export function stopClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    // At 0 there is no time yet for some.
    vi.advanceTimersByTime(1)
    return () => void vi.useRealTimers()
  })
}

/** Lets what was written be read, then time go by. */
export async function pass(ms: number): Promise<void> {
  await delay(READ_MS)
  for (let turn = 0; turn < TURNS; turn++) await nextTurn()
  vi.advanceTimersByTime(ms)
}
