import { describe, expect, it, vi } from 'vitest'
import type { Bug } from './gateway.ts'
import { planOf } from './plan.ts'
import { report, simulate } from './simulate.ts'

vi.mock('node:timers/promises', async () => ({
  setTimeout: (await import('./simulated-time.ts')).simulatedDelay,
}))
// The tokenizer runs in a thread of its own, which no seed determines.
vi.mock('../../workers/providers/count-tokens.ts', () => ({
  countTextTokens: async (text: string) => text.split(' ').length,
  countPromptTokens: async () => 7,
}))

const ONLY = process.env.SIMULATION_SEED
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 2_000)
const FROM = Number(process.env.SIMULATION_FROM ?? 1)
/** Seeds in which an injected bug must have shown. */
const BUG_SEEDS = 500
const TIMEOUT_MS = Math.max(60_000, SEEDS * 50)

describe('the way of the money, crashed, delayed, repeated and reordered at every step', () => {
  if (ONLY === undefined) {
    it('breaks no law, in thousands of seeds', { timeout: TIMEOUT_MS }, async () => {
      const outcomes: Record<string, number> = {}
      let calls = 0
      for (let seed = FROM; seed < FROM + SEEDS; seed++) {
        const result = await simulate(seed)
        if (result.broken !== null) throw new Error(await report(seed))
        for (const [outcome, count] of Object.entries(result.outcomes)) {
          outcomes[outcome] = (outcomes[outcome] ?? 0) + count
          calls += count
        }
      }
      console.info(`${SEEDS} seeds from ${FROM}, ${calls} calls: ${JSON.stringify(outcomes)}`)
      // A simulation in which little happens proves little.
      expect(outcomes.whole).toBeGreaterThan(calls / 2)
      for (const outcome of ['refused', 'error', 'hung-up', 'connection-lost']) {
        expect(outcomes[outcome]).toBeGreaterThan(calls / 200)
      }
    })
  } else {
    it(`seed ${ONLY}`, async () => {
      const { broken, trace } = await simulate(Number(ONLY))
      console.info(trace.join('\n'))
      if (broken !== null) throw new Error(await report(Number(ONLY)))
    })
  }

  it('goes the same way twice for one seed', async () => {
    for (const seed of [3, 14, 35]) {
      const [first, second] = [await simulate(seed), await simulate(seed)]
      expect(second).toEqual(first)
      expect(first.trace.length).toBeGreaterThan(3)
    }
  })
})

describe('a bug is found', () => {
  const bugs: Array<[bug: Bug, what: string, symptom: RegExp]> = [
    ['release-before-commit', 'the hold released before the charge is committed', /its hold is gone/],
    ['settle-after-end', 'the settlement enqueued after the end was shown', /no settlement is on its way/],
    ['charge-twice', 'a replayed settlement charged again', /charged 2 times|entries sum/],
    ['no-grace', 'balances loaded before holds are restated', /below zero|its hold is gone/],
    [
      'no-restatement',
      'workers that do not restate what Redis lost',
      /no settlement is on its way|given away/,
    ],
  ]

  it.each(bugs)('%s: %s', { timeout: 30_000 }, async (bug, _what, symptom) => {
    for (let seed = 1; seed <= BUG_SEEDS; seed++) {
      if ((await simulate(seed, bug)).broken === null) continue
      const said = await report(seed, bug)
      expect(said).toMatch(symptom)
      expect(said).toContain(`SIMULATION_SEED=${seed}`)
      // The report is shorter than the run it is about, and what it leaves out does not matter.
      expect(said.split('\n').length).toBeLessThan(40)
      expect(planOf(seed).deeds.length).toBeGreaterThan(0)
      return
    }
    throw new Error(`${BUG_SEEDS} seeds did not find it`)
  })
})
