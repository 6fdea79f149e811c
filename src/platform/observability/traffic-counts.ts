import { MINUTE_MS } from '../../core/kernel/time.ts'

/**
 * Counts of the fleet's traffic. Counters have names: `requests:2xx`, `errors:overloaded`,
 * `calls:completed`, `prompt_tokens`, `completion_tokens`, `spend_pico`. Amounts are pico-USD.
 */
export type TrafficCounts = Map<string, bigint>

/** Where a process counts its work, for its report to operators. */
export interface WorkCounts {
  /** Counts finished pieces of work by their outcome. */
  finished: (outcome: string, count?: number) => void
  traffic: { add: (counts: Iterable<readonly [figure: string, count: bigint]>) => void }
}

/** The counts of a time slot that starts at `atMs`. */
export interface TrafficSlot {
  atMs: number
  counts: TrafficCounts
}

/** The minute of a time, counted from the Unix epoch. */
export const minuteOf = (unixMs: number): number => Math.floor(unixMs / MINUTE_MS)

/** The name of a counter within its minute's hash. */
export const trafficField = (unixMs: number, figure: string): string =>
  `${Math.floor((unixMs % MINUTE_MS) / 1000)}:${figure}`

export function addCounts(to: TrafficCounts, more: Iterable<readonly [string, bigint]>): void {
  for (const [figure, count] of more) to.set(figure, (to.get(figure) ?? 0n) + count)
}

/**
 * Sums the hashes of some minutes into slots of `stepMs`, from `fromMs` to before `toMs`, empty ones included.
 * Values that are not counts are ignored.
 */
export function trafficSlots(
  minutes: ReadonlyMap<number, Readonly<Record<string, string>>>,
  span: { fromMs: number; toMs: number; stepMs: number },
): TrafficSlot[] {
  const { fromMs, toMs, stepMs } = span
  const length = Math.max(0, Math.ceil((toMs - fromMs) / stepMs))
  const slots = Array.from(
    { length },
    (_, index): TrafficSlot => ({
      atMs: fromMs + index * stepMs,
      counts: new Map(),
    }),
  )
  for (const [minute, fields] of minutes) {
    for (const [field, text] of Object.entries(fields)) {
      const [, second, figure] = /^(\d{1,2}):(.+)$/.exec(field) ?? []
      if (second === undefined || figure === undefined || !/^-?\d+$/.test(text)) continue
      const atMs = minute * MINUTE_MS + Number(second) * 1000
      const slot = atMs < fromMs ? undefined : slots[Math.floor((atMs - fromMs) / stepMs)]
      if (slot) addCounts(slot.counts, [[figure, BigInt(text)]])
    }
  }
  return slots
}

/** The counters of a family, `requests` → `{ '2xx': 5 }`. */
export function countsOf(counts: TrafficCounts, family: string): Record<string, number> {
  const prefix = `${family}:`
  return Object.fromEntries(
    [...counts]
      .filter(([figure]) => figure.startsWith(prefix))
      .map(([figure, count]) => [figure.slice(prefix.length), Number(count)]),
  )
}
