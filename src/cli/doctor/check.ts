import type { Config } from '../../config.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { Redis } from '../../platform/redis/redis.ts'

/** `wrong` makes the exit code 1; a `warning` does not. */
export type FindingLevel = 'ok' | 'warning' | 'wrong'

/** What a check found: `costs` is the consequence, `mend` the command or setting that corrects it. */
export interface Finding {
  level: FindingLevel
  found: string
  costs?: string
  mend?: string
}

export interface DoctorContext {
  config: Readonly<Config>
  environment: NodeJS.ProcessEnv
  postgres: Postgres
  /** Of DATABASE_REPORTS_URL; null: there is none. */
  replica: Postgres | null
  redis: Redis
}

/** One thing that can be wrong. A check that throws, or takes longer than its deadline, counts as wrong. */
export interface Check {
  name: string
  run(context: DoctorContext): Promise<Finding[]>
}

export const ok = (found: string): Finding => ({ level: 'ok', found })
export const warning = (found: string, costs: string, mend: string): Finding => ({
  ...{ level: 'warning', found },
  ...{ costs, mend },
})
export const wrong = (found: string, costs: string, mend: string): Finding => ({
  ...{ level: 'wrong', found },
  ...{ costs, mend },
})

/** The findings that apply, or that all is well. */
export const findings = (given: ReadonlyArray<Finding | false>, allWell: string): Finding[] => {
  const present = given.filter((each) => each !== false)
  return present.length > 0 ? present : [ok(allWell)]
}

export const REQUEST_WITHIN_MS = 5_000

/** The difference of a server's clock from ours: settlement and deadlines tolerate half a second, and alarms begin at five. */
export function clockFindings(server: string, aheadMs: number): Finding[] {
  const found = `the clock of ${server} is ${Math.round(Math.abs(aheadMs))} ms ${aheadMs > 0 ? 'ahead of' : 'behind'} this host`
  if (Math.abs(aheadMs) < 500) return [ok(found)]
  const report = Math.abs(aheadMs) < 5_000 ? warning : wrong
  return [report(found, 'deadlines, limits and sessions end early or late', 'timedatectl set-ntp true')]
}

/** A server's clock against ours, from a reading that lies between request and response. */
export async function measureAheadMs(readMs: () => Promise<number>): Promise<number> {
  const askedAt = Date.now()
  const serverMs = await readMs()
  return serverMs - (askedAt + Date.now()) / 2
}

/** Why something failed, in one line: the cause of a failed request, the last line of a failed query. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message } = error.cause instanceof Error ? error.cause : error
  return message.trim().split('\n').at(-1) ?? ''
}
