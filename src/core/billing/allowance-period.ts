import { DAY_MS } from '../kernel/time.ts'

export const LIMIT_RESETS = ['none', 'daily', 'weekly', 'monthly'] as const
export type LimitReset = (typeof LIMIT_RESETS)[number]

/** The current period of a key's spending limit: its name, start and end (unix ms, UTC). */
export interface AllowancePeriod {
  id: string
  startsAt: number
  /** Null: never. */
  endsAt: number | null
}

/** The period that contains `nowMs`. Days, weeks (from Monday) and months are in UTC. */
export function allowancePeriod(reset: LimitReset, nowMs: number): AllowancePeriod {
  const now = new Date(nowMs)
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const named = (prefix: string, startsAt: number, endsAt: number): AllowancePeriod => ({
    id: `${prefix}${new Date(startsAt).toISOString().slice(0, 10)}`,
    startsAt,
    endsAt,
  })
  switch (reset) {
    case 'none':
      return { id: 'total', startsAt: 0, endsAt: null }
    case 'daily':
      return named('d', Date.UTC(year, month, day), Date.UTC(year, month, day + 1))
    case 'weekly': {
      const monday = Date.UTC(year, month, day) - ((now.getUTCDay() + 6) % 7) * DAY_MS
      return named('w', monday, monday + 7 * DAY_MS)
    }
    case 'monthly':
      return named('m', Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1))
  }
}

/** The names of the stored totals that add up to a period: its days, or `total`. */
export function totalsOf({ id, startsAt, endsAt }: AllowancePeriod): string[] {
  if (endsAt === null) return [id]
  const days = Array.from({ length: (endsAt - startsAt) / DAY_MS }, (_, day) => startsAt + day * DAY_MS)
  return days.map((at) => allowancePeriod('daily', at).id)
}

/** How long an allowance is kept after its period, for calls that were admitted at its end. */
export const PERIOD_SLACK_MS = 3_600_000

/** The periods with stored allowances: the current one, and for an hour the previous one. */
export function keptPeriods(reset: LimitReset, nowMs: number): AllowancePeriod[] {
  const running = allowancePeriod(reset, nowMs)
  if (running.endsAt === null || nowMs >= running.startsAt + PERIOD_SLACK_MS) return [running]
  return [running, allowancePeriod(reset, running.startsAt - 1)]
}
