import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Operator, RunAudited } from './audit-log.ts'

/** Settings that operators change while the gateway runs. */
export interface GatewaySettings {
  providerStatusPublic: boolean
}

const DEFAULTS: GatewaySettings = { providerStatusPublic: false }
/** How long a read value is used before changes of other instances are read. */
const FRESH_MS = 5_000

export type GatewaySettingsStore = ReturnType<typeof createGatewaySettings>

/** Settings in PostgreSQL; changes are recorded in the audit log. */
export const createGatewaySettings = (postgres: Postgres, auditedAction: RunAudited, clock: () => number) => {
  let last = DEFAULTS
  let freshUntil = Number.NEGATIVE_INFINITY
  const read = async (): Promise<GatewaySettings> => {
    const rows = await postgres.gatewaySetting.findMany()
    // Only `change` writes these rows, with the names and types of the defaults.
    last = { ...DEFAULTS, ...Object.fromEntries(rows.map(({ name, value }) => [name, value])) }
    freshUntil = clock() + FRESH_MS
    return last
  }
  return {
    read,

    /** For pages: at most a few seconds old, or the last read value while PostgreSQL is away. */
    known: (): Promise<GatewaySettings> | GatewaySettings =>
      clock() < freshUntil ? last : read().catch(() => last),

    async change(operator: Operator, change: Partial<GatewaySettings>): Promise<GatewaySettings> {
      const action = { action: 'settings.change', target: 'gateway', details: { ...change } }
      return auditedAction(operator, action, async () => {
        for (const [name, value] of Object.entries(change))
          await postgres.gatewaySetting.upsert({
            where: { name },
            create: { name, value },
            update: { value, changedAt: new Date() },
          })
        return read()
      })
    },
  }
}
