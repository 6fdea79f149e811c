import type { TrafficFigures } from '../../src/core/api/operations.ts'

/** Calls that ended, in whichever way. */
export const endedCalls = ({ calls }: Pick<TrafficFigures, 'calls'>): number =>
  Object.values(calls).reduce((sum, count) => sum + (count ?? 0), 0)

/** Requests that were answered with a 5xx. */
export const serverErrors = ({ requests }: Pick<TrafficFigures, 'requests'>): number => requests['5xx'] ?? 0
