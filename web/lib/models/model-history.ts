import type { ModelDetails } from '../../../src/core/api/models.ts'
import { formatDuration, formatShare } from '../format.ts'

export const HISTORY_MEASURES = ['latency', 'throughput', 'uptime'] as const
export type HistoryMeasure = (typeof HISTORY_MEASURES)[number]

type Day = ModelDetails['days'][number]

interface Measure {
  name: string
  caption: string
  read: (day: Day) => number | null
  format: (value: number) => string
}

/** What is measured of a model by day. */
export const MEASURES: Readonly<Record<HistoryMeasure, Measure>> = {
  latency: {
    name: 'Latency',
    caption: 'Median time to first token by day',
    read: ({ first_token_ms }) => first_token_ms,
    format: (ms) => formatDuration(ms),
  },
  throughput: {
    name: 'Throughput',
    caption: 'Median completion tokens per second by day',
    read: ({ tokens_per_second }) => tokens_per_second,
    format: (perSecond) => `${perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond)} tokens/s`,
  },
  uptime: {
    name: 'Uptime',
    caption: 'Share of successful attempts by day',
    read: ({ uptime }) => uptime,
    format: formatShare,
  },
}

/** A value as text; a dash where too few calls were measured. */
export const historyText = (measure: HistoryMeasure, day: Day): string => {
  const { read, format } = MEASURES[measure]
  const value = read(day)
  return value === null ? '–' : format(value)
}
