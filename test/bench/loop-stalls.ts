import type { Bench } from './measurements.ts'

/** The event loop's longest stall under hostile load, in ms, by process. */
export type LoopStalls = Record<'api' | 'dispatch', number>

/** What a stall may be, in ms. */
export const STALL_MAX_MS = 100

const QUIET_CALLS_PER_SECOND = 40
const MEASURED_MS = 4_000
/** What the processes watch their loops by, and what the measure therefore includes; see `src/platform/observability/metrics.ts`. */
const LOOP_RESOLUTION_MS = 20
const MB = 1_000_000

/** Sends what costs most to read, bound and count, again and again, among ordinary calls. */
export async function measureLoopStalls(bench: Bench): Promise<LoopStalls> {
  const { stack, load, failures } = bench
  const bodies = hostileBodies()
  await readStalls(bench)
  let isOver = false
  const hostile = (async () => {
    for (let index = 0; !isOver; index++) await sendHostile(bench, bodies[index % bodies.length]!)
  })()
  const quiet = await load.run({
    target: {
      port: stack.apiPort,
      path: '/v1/chat/completions',
      apiKey: stack.quietApiKey,
      model: 'bench/plain',
      stream: false,
    },
    load: { kind: 'paced', callsPerSecond: QUIET_CALLS_PER_SECOND },
    durationMs: MEASURED_MS,
    warmUpMs: 0,
  })
  isOver = true
  await hostile
  const { count, reasons } = quiet.failures
  if (count > 0) failures.push(`beside hostile load: ${count} failed: ${reasons.join(' | ')}`)
  bench.log('measured: event loops under hostile load')
  return readStalls(bench)
}

async function sendHostile({ stack, failures }: Bench, body: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${stack.apiPort}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.apiKey}`, 'content-type': 'application/json' },
    body,
  })
  await response.arrayBuffer()
  if (response.status >= 500 && response.status !== 503) {
    failures.push(`a hostile call was answered with ${response.status}`)
  }
}

/** The longest stalls since they were read last. */
async function readStalls({ stack }: Bench): Promise<LoopStalls> {
  const read = async (port: number) => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const seconds = /^nodejs_eventloop_lag_max_seconds\{[^}]*\} (\S+)$/m.exec(text)?.[1]
    if (seconds === undefined) throw new Error('a process says nothing of its event loop')
    return Math.max(0, Number(seconds) * 1_000 - LOOP_RESOLUTION_MS)
  }
  return { api: await read(stack.metricsPorts.api), dispatch: await read(stack.metricsPorts.dispatch) }
}

function hostileBodies(): string[] {
  const call = (content: unknown, more: object = {}) =>
    JSON.stringify({ model: 'bench/unmeasured-echo', messages: [{ role: 'user', content }], ...more })
  const times = (count: number, piece: string) => piece.repeat(count)
  const names = (count: number) =>
    `{"model":"no/such","ignored":{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(',')}}}`
  const ideographs = Array.from({ length: 100_000 }, (_, index) =>
    String.fromCharCode(0x4e00 + ((index * 7_919) % 20_000)),
  ).join('')
  return [
    names(2_000_000),
    names(45_000),
    call(times(31 * MB, 'a')),
    call(times(10 * MB, '漢')),
    call([{ type: 'image_url', image_url: { url: `data:image/png;base64,A${times(15 * MB, '\n')}!` } }]),
    call(ideographs),
    call(`[${times(5_000, '"a" b ')}`, { response_format: { type: 'json_object' } }),
  ]
}
