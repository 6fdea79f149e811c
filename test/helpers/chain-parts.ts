import type { ChainDependencies } from '../../src/calls/worker/attempts/attempt-chain.ts'
import type { ReportDependencies } from '../../src/calls/worker/attempts/attempt-history.ts'

const nothing = () => undefined

/** Nothing is given up for being slow. */
export const PATIENT: ChainDependencies['settings'] = {
  attemptsPerCall: 4,
  firstTokenTimeoutMs: 30_000,
  lastFirstTokenTimeoutMs: 30_000,
  reasoningFirstTokenTimeoutMs: 30_000,
  reasoningLastFirstTokenTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  flexWaitMs: 600_000,
  dripTokensMin: 10,
}

/** Of a worker's chain: a meter that counts nothing, and a vault that has no BYOK key. */
export const UNMEASURED: Pick<ReportDependencies, 'meter' | 'byokKeys'> = {
  meter: { operation: nothing, attempt: nothing, answer: nothing },
  byokKeys: { open: async () => ({ kind: 'unavailable' }), note: nothing },
}
