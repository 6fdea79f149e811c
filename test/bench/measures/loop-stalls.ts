import { type Bench, putLoad, sampler } from '../bench-run.ts'
import type { Sample } from '../samples.ts'
import { type GatewayTarget, isGateway } from '../targets/target.ts'

const QUIET_CALLS_PER_SECOND = 40
const MEASURED_MS = 4_000
const MB = 1_000_000

/** The longest stall of an event loop while what costs most to read, bound and count arrives among ordinary calls. */
export async function measureLoopStalls(bench: Bench): Promise<Sample[]> {
  const samples: Sample[] = []
  const bodies = hostileBodies()
  for (const target of bench.targets.filter(isGateway)) {
    await readStallsMs(target)
    let isOver = false
    const sendAll = async () => {
      for (let index = 0; !isOver; index++) await sendHostile(bench, target, bodies[index % bodies.length]!)
    }
    const quiet = putLoad({ ...bench, scale: 1 }, target, 'plain', {
      headers: target.gateway.quietHeaders,
      load: { kind: 'paced', callsPerSecond: QUIET_CALLS_PER_SECOND },
      durationMs: MEASURED_MS,
      warmUpMs: 0,
    })
    const ending = quiet.finally(() => {
      isOver = true
    })
    await Promise.all([ending, sendAll()])
    const stallsMs = await readStallsMs(target)
    const sampleFor = sampler(target)
    samples.push(sampleFor('longest stall under hostile load: API (goal 100)', 'ms', stallsMs.api))
    samples.push(sampleFor('longest stall under hostile load: dispatch (goal 100)', 'ms', stallsMs.dispatch))
  }
  return samples
}

async function sendHostile({ failures }: Bench, target: GatewayTarget, body: string): Promise<void> {
  const response = await fetch(target.url, {
    method: 'POST',
    headers: { ...target.headers, 'content-type': 'application/json' },
    body,
  })
  await response.arrayBuffer()
  if (response.status >= 500 && response.status !== 503) {
    failures.push(`${target.name}: a hostile call was answered with ${response.status}`)
  }
}

/** The longest stalls since they were read last. */
async function readStallsMs({ gateway }: GatewayTarget): Promise<Record<'api' | 'dispatch', number>> {
  const read = async (port: number) => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const seconds = /^nodejs_eventloop_lag_max_seconds\{[^}]*\} (\S+)$/m.exec(text)?.[1]
    if (seconds === undefined) throw new Error('a process reports nothing about its event loop')
    return Number(seconds) * 1_000
  }
  const { api, dispatch } = gateway.metricsPorts
  return { api: await read(api), dispatch: await read(dispatch) }
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
