import { describe, expect, test, vi } from 'vitest'
import type { Bug } from './gateway.ts'
import { planOf, SHARDED_FROM } from './plan.ts'
import { report, simulate } from './simulate.ts'

vi.mock('node:timers/promises', async () => ({
  setTimeout: (await import('./simulated-time.ts')).simulatedDelay,
}))
// The tokenizer runs in a thread of its own, which no seed determines.
vi.mock('../../src/providers/count-tokens.ts', async () => {
  const { tokensOf } = await import('./simulated-provider.ts')
  return { countTextTokens: async (text: string) => tokensOf(text), countPromptTokens: async () => 7 }
})

const ONLY = process.env.SIMULATION_SEED
const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 60)
const FROM = Number(process.env.SIMULATION_FROM ?? SHARDED_FROM)
/** Seeds that broke an invariant once. */
const BROKE_ONCE = [
  2648, 7580, 50060, 71121, 72338, 73282, 80266, 82574, 84780, 88475, 92094, 200754, 201385, 300180, 302627,
]
/** Seeds in which an injected bug must be found. */
const BUG_SEEDS = 500
/** Broken seeds beyond these are named only. */
const REPORTED_MAX = 10
const TIMEOUT_MS = Math.max(180_000, SEEDS * 1_000)

describe('the way of the money, crashed, delayed, repeated and reordered at every step', () => {
  if (ONLY === undefined) {
    test(`breaks no invariant, in ${SEEDS} seeds`, { timeout: TIMEOUT_MS }, async () => {
      const outcomes: Record<string, number> = {}
      let calls = 0
      const broken: number[] = []
      const seeds = [...BROKE_ONCE, ...Array.from({ length: SEEDS }, (_, index) => FROM + index)]
      for (const seed of seeds) {
        const result = await simulate(seed)
        if (result.broken !== null) broken.push(seed)
        for (const [outcome, count] of Object.entries(result.outcomes)) {
          outcomes[outcome] = (outcomes[outcome] ?? 0) + count
          calls += count
        }
      }
      console.info(`${SEEDS} seeds from ${FROM}, ${calls} calls: ${JSON.stringify(outcomes)}`)
      // Each report replays its seed many times to shorten it.
      const reports: string[] = []
      for (const seed of broken.slice(0, REPORTED_MAX)) reports.push(await report(seed))
      expect(broken, reports.join('\n\n')).toEqual([])
      // A simulation in which little happens proves little.
      expect(outcomes.whole).toBeGreaterThan(calls / 2)
      for (const outcome of ['refused', 'error', 'hung-up', 'connection-lost']) {
        expect(outcomes[outcome]).toBeGreaterThan(calls / 200)
      }
    })
  } else {
    test(`seed ${ONLY}`, async () => {
      const { broken, trace } = await simulate(Number(ONLY))
      console.info(trace.join('\n'))
      if (broken !== null) throw new Error(await report(Number(ONLY)))
    })
  }

  test('goes the same way twice for one seed', async () => {
    for (const seed of [3, 14, 35, SHARDED_FROM + 3]) {
      const [first, second] = [await simulate(seed), await simulate(seed)]
      expect(second).toEqual(first)
      expect(first.trace.length).toBeGreaterThan(3)
    }
  })
})

describe('a bug is found', () => {
  /** `from` is a seed that found it, which saves the way there; another seed does as well. */
  const bugs: Array<[bug: Bug, what: string, symptom: RegExp, from?: number]> = [
    ['release-before-commit', 'the hold released before the charge is committed', /its hold is gone/],
    [
      'settle-after-end',
      'the settlement enqueued after the end was delivered',
      /no settlement is on its way|saw the end, but it was settled as|are left of a budget/,
      649,
    ],
    [
      'settle-after-end-colocated',
      'the same within one process',
      /no settlement is on its way|saw the end, but it was settled as|are left of a budget/,
      494,
    ],
    [
      'hold-until-settled',
      'the hold not shrunk when the call ends',
      /its client saw the end, and \d+ are held/,
    ],
    [
      'charge-failed',
      'a call that the gateway gave up, charged as if its client had left',
      /got an error and no text, was charged|was delivered/,
      34,
    ],
    [
      'told-by-message',
      'a failure that was told to a client, and to its worker by a message alone',
      /got an error and no text, was charged|was delivered/,
      875,
    ],
    [
      'withdraw-by-remove',
      'calls withdrawn that a worker has, or had',
      /waited too long for a worker, was charged|its settlement of \d+ waits, and its hold is 0/,
      149,
    ],
    [
      'free-hang-up',
      'a client that left before the first token, charged nothing',
      /was charged nothing/,
      325,
    ],
    [
      'runs-by-number',
      'runs of a call told apart by the numbers of their claims, which Redis gave away twice',
      /was delivered "|whole answer is/,
      193,
    ],
    ['charge-twice', 'a replayed settlement charged again', /charged 2 times|entries sum/],
    [
      'no-grace',
      'balances loaded before holds are resynced',
      /below zero|its hold is gone|are left of a budget/,
      541,
    ],
    [
      'no-resync',
      'workers that do not resync what Redis lost',
      /no settlement is on its way|given away|its hold is gone/,
      31,
    ],
    [
      'sweeps-first-shard',
      'maintenance that sweeps the holds of the first shard alone',
      /holds are open/,
      SHARDED_FROM + 361,
    ],
    [
      'looks-up-first-shard',
      'maintenance that looks calls up in the queues of the first shard alone',
      /was swept as lost, and its settlement waits/,
      SHARDED_FROM + 175,
    ],
  ]

  test.each(bugs)('%s: %s', async (bug, _what, symptom, from = 1) => {
    for (let seed = from; seed < from + BUG_SEEDS; seed++) {
      if ((await simulate(seed, bug)).broken === null) continue
      const said = await report(seed, bug)
      expect(said).toMatch(symptom)
      expect(said).toContain(`SIMULATION_SEED=${seed}`)
      // The report is shorter than the run it is about, and what it leaves out does not matter.
      expect(said.split('\n').length).toBeLessThan(40)
      expect(planOf(seed).events.length).toBeGreaterThan(0)
      return
    }
    throw new Error(`${BUG_SEEDS} seeds did not find it`)
  })
})
