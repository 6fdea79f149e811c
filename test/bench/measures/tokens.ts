import { BURST_TOKENS } from '../bench-catalog.ts'
import { type Bench, putLoad, sampler } from '../bench-run.ts'
import type { Sample } from '../samples.ts'

const CALLERS = 32

/** Tokens relayed per second with as many streams as a target can follow. */
export async function measureTokens(bench: Bench): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const target of bench.targets) {
    const load = { kind: 'callers', callers: CALLERS } as const
    const shape = { stream: true, load, durationMs: 2_500, warmUpMs: 500 }
    const { calls, seconds } = await putLoad(bench, target, 'burst', shape)
    samples.push(sampler(target)(`${CALLERS} streams: tokens`, '/s', (calls * BURST_TOKENS) / seconds))
  }
  return samples
}
