import {
  CALLS_PER_SECOND,
  fewSlots,
  ms,
  perSecond,
  putLoadOn,
  refusals,
  type ScaleBench,
  type Table,
} from './scale-bench.ts'

const WORKERS = 2
const CAPACITY = WORKERS * CALLS_PER_SECOND
const PHASES = [
  { name: 'before', share: 0.6, durationMs: 6_000 },
  { name: 'surge', share: 3, durationMs: 10_000 },
  { name: 'after', share: 0.6, durationMs: 8_000 },
]
const settings = { QUEUE_WAIT_MS: '2000' }
/** Of a call that is accepted: what it may wait, its provider's time, and a margin of the machine. */
const LATENCY_MAX_MS = 2_000 + 300 + 1_000

/** Five times the usual load for a while: what is accepted has a bounded latency, the rest is refused, and it ends with the surge. */
export async function measureSurge(bench: ScaleBench): Promise<Table> {
  const api = await bench.start('api', settings)
  for (let count = 0; count < WORKERS; count++) await bench.start('dispatch', { ...fewSlots, ...settings })
  const rows = [['', 'offered/s', 'served/s', 'p50 ms', 'p99 ms', 'refused', 'failed']]
  for (const { name, share, durationMs } of PHASES) {
    const callsPerSecond = share * CAPACITY
    // The first second after a surge still serves what it left in the queue.
    const warmUpMs = 2_500
    const load = { kind: 'paced', callsPerSecond } as const
    const result = await putLoadOn(bench, api.url, 'usual', { durationMs, warmUpMs, load })
    const { refused, failed } = refusals(result)
    const { p50Ms, p99Ms } = result.latency
    rows.push([
      ...[name, callsPerSecond.toFixed(0), perSecond(result).toFixed(1), ms(p50Ms), ms(p99Ms)],
      ...[String(refused), String(failed)],
    ])
    if (failed > 0) bench.failures.push(`surge, ${name}: ${result.failures.reasons.join(' | ')}`)
    if (name !== 'surge' && refused > 0) bench.failures.push(`surge, ${name}: ${refused} refused`)
    if (p99Ms > LATENCY_MAX_MS) bench.failures.push(`surge, ${name}: p99 of ${ms(p99Ms)} ms`)
  }
  const notes = [
    `capacity ${CAPACITY.toFixed(0)} calls/s, a call waits 2 s at most; refused: 408, 429 or 503`,
  ]
  return { title: 'a surge of five times', rows, notes }
}
