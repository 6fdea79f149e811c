import { expect, it, vi } from 'vitest'
import { report, simulate } from './simulate.ts'

vi.mock('node:timers/promises', async () => ({
  setTimeout: (await import('./simulated-time.ts')).simulatedDelay,
}))
// The tokenizer runs in a thread of its own, which no seed determines.
vi.mock('../../workers/providers/count-tokens.ts', () => ({
  countTextTokens: async (text: string) => text.split(' ').length,
  countPromptTokens: async () => 7,
}))

const only = process.env.SIMULATION_SEED

it('probe', { timeout: 120_000 }, async () => {
  const seeds = only
    ? [Number(only)]
    : Array.from({ length: Number(process.env.N ?? 200) }, (_, i) => i + Number(process.env.S ?? 1))
  const t = performance.now()
  let steps = 0
  const outcomes: Record<string, number> = {}
  for (const seed of seeds) {
    const result = await simulate(seed)
    steps += result.steps
    for (const [k, v] of Object.entries(result.outcomes)) outcomes[k] = (outcomes[k] ?? 0) + v
    if (only) console.log(result.trace.join('\n'))
    if (result.broken) throw new Error(await report(seed))
  }
  console.log(seeds.length, steps, performance.now() - t, outcomes)
  expect(1).toBe(1)
})
