import { readProcessUsage } from '../process-usage.ts'
import { expectNone, ms, putLoadOn, type ScaleBench, type Table } from './scale-bench.ts'

const STREAMS = 10_000
/** Less than the 40 s that a stream takes, so that all are open at once. */
const START_OVER_MS = 30_000
/** What the provider takes to the first token. */
const PROVIDER_MS = 30_000
const settings = {
  ...{ WORKER_CONCURRENCY: '12000', PENDING_CALLS_MAX: '16000', QUEUE_WAIT_MS: '60000' },
  // All of them come from one address.
  CONNECTIONS_PER_ADDRESS: '20000',
  ...{
    FIRST_TOKEN_TIMEOUT_MS: '60000',
    LAST_FIRST_TOKEN_TIMEOUT_MS: '60000',
    IDLE_TIMEOUT_MS: '60000',
    CONNECT_TIMEOUT_MS: '30000',
  },
}
const BYTES_PER_MB = 2 ** 20

/** Ten thousand streams through one API process and one worker, that all run at once. */
export async function measureOpenStreams(bench: ScaleBench): Promise<Table> {
  const api = await bench.start('api', settings)
  const worker = await bench.start('dispatch', settings)
  const streams = Math.round(STREAMS * bench.scale)
  const pids = [api.pid, worker.pid]
  let highest = new Map(pids.map((pid) => [pid, 0]))
  let mostAtOnce = 0
  const watch = setInterval(() => {
    void pendingCalls(api.metricsPort).then((pending) => {
      mostAtOnce = Math.max(mostAtOnce, pending)
    })
    void readProcessUsage(pids).then((usage) => {
      highest = new Map(pids.map((pid) => [pid, Math.max(highest.get(pid)!, usage.get(pid)!.memoryBytes)]))
    })
  }, 1_000)
  const load = { kind: 'callers', callers: streams, startOverMs: START_OVER_MS, callsEach: 1 } as const
  const startedAt = performance.now()
  const result = await putLoadOn({ ...bench, scale: 1 }, api.url, 'open', {
    ...{ load, stream: true, durationMs: 120_000, warmUpMs: 0 },
  }).finally(() => clearInterval(watch))
  expectNone(bench, 'open streams', result)
  const megabytes = (pid: number) => ((highest.get(pid) ?? 0) / BYTES_PER_MB).toFixed(0)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  return {
    title: 'open streams through one API process and one worker',
    rows: [
      [
        'streams',
        'at once',
        'whole',
        'failed',
        'first token late p50 ms',
        'p99 ms',
        'API MB',
        'worker MB',
        'seconds',
      ],
      [
        ...[String(streams), String(mostAtOnce), String(result.calls), String(result.failures.count)],
        ...[
          ms(result.firstToken.p50Ms - PROVIDER_MS),
          ms(result.firstToken.p99Ms - PROVIDER_MS),
          megabytes(api.pid),
          megabytes(worker.pid),
          seconds,
        ],
      ],
    ],
    notes: [`started over ${START_OVER_MS / 1000} s, 10 tokens at one a second each, after 30 s`],
  }
}

/** As the API instance counts them. */
async function pendingCalls(metricsPort: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
  return Number(/^shuntyard_pending_calls(?:\{[^}]*\})? (\d+)/m.exec(await response.text())?.[1])
}
