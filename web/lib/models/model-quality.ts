import type { ModelQualityView } from '../../../src/core/api/models.ts'

/** A quality with its standard error: `52% ± 5`. */
export const qualityText = ({ value, standard_error: error }: ModelQualityView): string =>
  `${Math.round(value * 100)}% ± ${Math.max(1, Math.round(error * 100))}`

const ESTIMATES = {
  measured: '',
  'other kinds': 'Estimated from its other figures',
  line: 'Estimated from the version before it',
}

/** Where a quality is from, in words. */
export const qualitySource = ({ basis, source }: ModelQualityView): string => source ?? ESTIMATES[basis]

/** Kinds of task, as people read them. */
export const TASKS: Readonly<Record<string, string>> = {
  other: 'Reasoning and data',
  code: 'Coding',
  formulas: 'Mathematics',
  chat: 'Conversation',
  agentic: 'Agents with tools',
}

/** Of points, those that no other beats: none costs as little and is better. The cheapest first. */
export function frontierOf<Point extends { x: number; y: number }>(points: readonly Point[]): Point[] {
  let best = Number.NEGATIVE_INFINITY
  return points
    .toSorted((a, b) => a.x - b.x || b.y - a.y)
    .filter(({ y }) => {
      if (y <= best) return false
      best = y
      return true
    })
}
