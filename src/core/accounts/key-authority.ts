import type { LimitReset } from '../billing/allowance-period.ts'

/** Who changes a key, the least first: who made it, owners and admins of its account, operators. */
export const KEY_AUTHORITIES = ['creator', 'manager', 'operator'] as const
export type KeyAuthority = (typeof KEY_AUTHORITIES)[number]

/** Whether what one did is not for the other to undo. */
export const standsAbove = (one: KeyAuthority, other: KeyAuthority): boolean =>
  KEY_AUTHORITIES.indexOf(one) > KEY_AUTHORITIES.indexOf(other)

/** The settings that limit a key. Null and empty lists limit nothing. */
export interface LimitingSettings {
  limitPico: bigint | null
  limitReset: LimitReset
  expiresAt: Date | null
  customerRequestsPerMinute: number | null
  customerConcurrentCalls: number | null
  allowedModels: readonly string[]
  allowedProviders: readonly string[]
}

/** A key that nothing limits. */
export const UNLIMITED: LimitingSettings = {
  limitPico: null,
  limitReset: 'none',
  expiresAt: null,
  customerRequestsPerMinute: null,
  customerConcurrentCalls: null,
  allowedModels: [],
  allowedProviders: [],
}

/** The same by the fields of the API, as JSON that is stored. A field that limits nothing is absent. */
export type KeyBound = {
  limit_usd?: { pico: string; reset: LimitReset }
  expires_at?: string
  requests_per_minute?: number
  concurrent_calls?: number
  allowed_models?: readonly string[]
  allowed_providers?: readonly string[]
}
export type BoundField = keyof KeyBound

/** What managers and operators limited a key to: bounds for everybody below them. */
export type SettingBounds = Partial<Record<Exclude<KeyAuthority, 'creator'>, KeyBound>>

/** The fields of the API by the settings that they stand for. */
const FIELDS: Record<keyof LimitingSettings, BoundField> = {
  limitPico: 'limit_usd',
  limitReset: 'limit_usd',
  expiresAt: 'expires_at',
  customerRequestsPerMinute: 'requests_per_minute',
  customerConcurrentCalls: 'concurrent_calls',
  allowedModels: 'allowed_models',
  allowedProviders: 'allowed_providers',
}

export type BoundChange =
  | { kind: 'permitted'; bounds: SettingBounds }
  /** Looser than what somebody above set. */
  | { kind: 'refused'; field: BoundField; setBy: KeyAuthority }

/**
 * What an edit by somebody makes of a key's bounds. Below a bound they may tighten what it limits, not loosen it; what
 * they set themselves becomes the bound for those below them.
 */
export function changeBounds(
  bounds: SettingBounds,
  current: LimitingSettings,
  edit: Partial<LimitingSettings>,
  by: KeyAuthority,
): BoundChange {
  const after = boundOf({ ...current, ...edit })
  const edited = (Object.keys(FIELDS) as Array<keyof LimitingSettings>).filter(
    (name) => edit[name] !== undefined,
  )
  const fields = new Set(edited.map((name) => FIELDS[name]))
  const changed = { manager: { ...bounds.manager }, operator: { ...bounds.operator } }
  for (const field of fields) {
    for (const other of ['operator', 'manager'] as const) {
      const bound = changed[other]
      if (standsAbove(other, by)) {
        if (!isWithin(field, after, bound)) return { kind: 'refused', field, setBy: other }
        continue
      }
      delete bound[field]
      if (other === by) Object.assign(bound, after[field] !== undefined && { [field]: after[field] })
    }
  }
  const inForce = Object.entries(changed).filter(([, bound]) => Object.keys(bound).length > 0)
  return { kind: 'permitted', bounds: Object.fromEntries(inForce) }
}

/** The fields that are bounded for somebody, with the lowest of who did it: theirs is the narrowest bound. */
export function boundedBy(
  bounds: SettingBounds,
  below: KeyAuthority,
): Partial<Record<BoundField, KeyAuthority>> {
  const above = (['operator', 'manager'] as const).filter((other) => standsAbove(other, below))
  return Object.fromEntries(above.flatMap((by) => Object.keys(bounds[by] ?? {}).map((field) => [field, by])))
}

function boundOf(settings: LimitingSettings): KeyBound {
  const { limitPico, limitReset, expiresAt, allowedModels, allowedProviders } = settings
  const { customerRequestsPerMinute: requests, customerConcurrentCalls: calls } = settings
  return {
    ...(limitPico !== null && { limit_usd: { pico: String(limitPico), reset: limitReset } }),
    ...(expiresAt !== null && { expires_at: expiresAt.toISOString() }),
    ...(requests !== null && { requests_per_minute: requests }),
    ...(calls !== null && { concurrent_calls: calls }),
    ...(allowedModels.length > 0 && { allowed_models: allowedModels }),
    ...(allowedProviders.length > 0 && { allowed_providers: allowedProviders }),
  }
}

/** Whether a field is limited at least as far as a bound limits it. */
function isWithin(field: BoundField, after: KeyBound, bound: KeyBound): boolean {
  if (bound[field] === undefined) return true
  if (after[field] === undefined) return false
  switch (field) {
    case 'limit_usd': {
      const [limit, most] = [after.limit_usd!, bound.limit_usd!]
      return BigInt(limit.pico) <= BigInt(most.pico) && limit.reset === most.reset
    }
    case 'expires_at':
      return Date.parse(after.expires_at!) <= Date.parse(bound.expires_at!)
    case 'requests_per_minute':
    case 'concurrent_calls':
      return after[field]! <= bound[field]!
    case 'allowed_models':
      return after.allowed_models!.every((entry) => coversModel(bound.allowed_models!, entry))
    case 'allowed_providers':
      return after.allowed_providers!.every((entry) => bound.allowed_providers!.includes(entry))
    default:
      return field satisfies never
  }
}

/** Ids without a developer are of the maker whose wire format clients speak. */
const BARE_IDS_OF = 'openai'

function coversModel(entries: readonly string[], entry: string): boolean {
  const developer = entry.includes('/') ? entry.slice(0, entry.indexOf('/')) : BARE_IDS_OF
  return entries.includes(entry) || entries.includes(`${developer}/*`)
}
