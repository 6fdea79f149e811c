import type { ReportDependencies } from '../../src/calls/worker/attempts/attempt-history.ts'

const nothing = () => undefined

/** Of a worker's chain: a meter that counts nothing, and a vault that has no BYOK key. */
export const UNMEASURED: Pick<ReportDependencies, 'meter' | 'byokKeys'> = {
  meter: { operation: nothing, attempt: nothing, answer: nothing },
  byokKeys: { open: async () => ({ kind: 'unavailable' }), note: nothing },
}
