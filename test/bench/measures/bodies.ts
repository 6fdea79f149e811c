import { agentHistory } from '../../helpers/agent-history.ts'
import { BENCH_MODELS } from '../bench-catalog.ts'
import { type Bench, noteFailures, putLoad, putLoadOnClock, sampler } from '../bench-run.ts'
import { startLoadRunner } from '../load/load-runner.ts'
import type { Sample } from '../samples.ts'
import { isGateway, requestTo, type Target } from '../targets/target.ts'

const SURFACES = ['/v1/chat/completions', '/v2/chat/completions', '/v2/messages', '/v2/responses'] as const
type Surface = (typeof SURFACES)[number]

const AGENT = { textBytes: 55_000, turns: 20, tools: 70 }
const SPACED = { ...AGENT, isSpaced: true } as const
type Body = Omit<Parameters<typeof agentHistory>[1], 'model'> & { isSpaced?: true }
/** Bodies as agents send them; `isSpaced`: with a space after each comma and colon, as many clients write. */
const BODIES = new Map<string, Body>([
  ['text 1 kB', { textBytes: 1_000, turns: 1 }],
  ['text 20 kB', { textBytes: 23_000, turns: 3 }],
  ['text 100 kB', { textBytes: 116_000, turns: 3 }],
  ['text 400 kB', { textBytes: 470_000, turns: 3 }],
  ['70 tools', AGENT],
  ['70 tools, spaced', SPACED],
  ['70 tools, spaced, streamed', { ...SPACED, stream: true }],
  ['picture 1 MB', { textBytes: 1_000, turns: 1, imageBytes: 1_000_000 }],
  ['picture 4 MB', { textBytes: 1_000, turns: 1, imageBytes: 4_000_000 }],
])
/** Those of a quick run, with the most callers. */
const QUICK: Record<Surface, readonly string[]> = {
  '/v1/chat/completions': ['text 100 kB', '70 tools, spaced', 'picture 1 MB'],
  '/v2/chat/completions': ['70 tools, spaced'],
  '/v2/messages': ['70 tools, spaced'],
  '/v2/responses': [],
}
const CALLERS = [1, 16]
const MEASURED = { durationMs: 2_000, warmUpMs: 500 }
/** Beside whom a small caller waits: agents with `SPACED` bodies, which begin before it is measured. */
const AGENTS = 8
const BESIDE = { durationMs: 4_000, warmUpMs: 1_000 }

/**
 * Calls per second, latency and processor time a call with bodies as agents send them, the provider answering at once;
 * then the latency of a small caller beside agents. What is no gateway of this project takes only those of `/v1`.
 */
export async function measureBodies(bench: Bench): Promise<Sample[]> {
  const samples: Sample[] = []
  const isQuick = bench.scale < 1
  for (const surface of SURFACES) {
    const targets = bench.targets.filter((target) => surface === SURFACES[0] || isGateway(target))
    for (const [body, options] of BODIES) {
      if (isQuick && !QUICK[surface].includes(body)) continue
      for (const callers of isQuick ? CALLERS.slice(-1) : CALLERS) {
        const name = `${surface}, ${body}, ${callers} caller${callers === 1 ? '' : 's'}`
        for (const target of targets) {
          const sent = { path: pathOf(target, surface), body: bodyOf(target, surface, options) }
          const load = { kind: 'callers', callers } as const
          const { result, samples: cpu } = await putLoadOnClock(bench, target, 'plain', {
            ...MEASURED,
            ...{ load, sent, name, stream: options.stream === true },
          })
          const sampleFor = sampler(target)
          samples.push(
            sampleFor(`${name}: calls`, '/s', result.calls / result.seconds),
            sampleFor(`${name}: p50`, 'ms', result.latency.p50Ms),
            // Of the target together.
            ...cpu.slice(0, target.processes.size > 0 ? 1 : 0),
          )
        }
      }
    }
  }
  for (const target of bench.targets) samples.push(...(await measureSmallCaller(bench, target)))
  return samples
}

/** A lone caller of an account of its own. */
async function measureSmallCaller(bench: Bench, target: Target): Promise<Sample[]> {
  const surface = isGateway(target) ? '/v2/chat/completions' : '/v1/chat/completions'
  const url = new URL(pathOf(target, surface), target.url).href
  const agents = startLoadRunner()
  try {
    const [crowd, small] = await Promise.all([
      agents.run({
        request: { ...requestTo(target, 'plain'), url, body: bodyOf(target, surface, SPACED) },
        load: { kind: 'callers', callers: AGENTS },
        durationMs: (BESIDE.warmUpMs + BESIDE.durationMs) * bench.scale,
        warmUpMs: 0,
      }),
      putLoad(bench, target, 'plain', {
        ...BESIDE,
        headers: target.gateway?.quietHeaders ?? target.headers,
        load: { kind: 'callers', callers: 1 },
      }),
    ])
    noteFailures(bench.failures, `${target.name}, agents`, crowd)
    const sampleFor = sampler(target)
    return [
      sampleFor(`a small caller beside ${AGENTS} agents: p50`, 'ms', small.latency.p50Ms),
      sampleFor(`a small caller beside ${AGENTS} agents: p99`, 'ms', small.latency.p99Ms),
    ]
  } finally {
    await agents.stop()
  }
}

const pathOf = (target: Target, surface: Surface) =>
  isGateway(target) ? surface : new URL(target.url).pathname

function bodyOf(target: Target, surface: Surface, { isSpaced, stream = false, ...options }: Body): string {
  const model = isGateway(target) ? 'bench/plain' : BENCH_MODELS.plain
  const dialect = surface === '/v1/chat/completions' ? '/v2/chat/completions' : surface
  const json = agentHistory(dialect, { ...options, model, stream })
  return isSpaced
    ? json.replace(/"(?:[^"\\]|\\.)*"|[,:]/g, (found) => (found.length === 1 ? `${found} ` : found))
    : json
}
