import type { LimitReset } from '../billing/allowance-period.ts'

/** Who may change a key, lowest first: its creator, owners and admins of its account, operators. */
export const KEY_AUTHORITIES = ['creator', 'manager', 'operator'] as const
export type KeyAuthority = (typeof KEY_AUTHORITIES)[number]

/** Whether the second may not undo changes of the first. */
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

/** The settings of a key without limits. */
export const UNLIMITED: LimitingSettings = {
  limitPico: null,
  limitReset: 'none',
  expiresAt: null,
  customerRequestsPerMinute: null,
  customerConcurrentCalls: null,
  allowedModels: [],
  allowedProviders: [],
}

/** The limits as stored JSON. A field without a limit is absent. */
export type KeyBound = {
  limit_usd?: { pico: string; reset: LimitReset }
  expires_at?: string
  requests_per_minute?: number
  concurrent_calls?: number
  allowed_models?: readonly string[]
  allowed_providers?: readonly string[]
}
export type BoundField = keyof KeyBound

/** A bounded field's name in the API, where rate limits say whose they are. */
export const apiFieldOf = (field: string): string =>
  field === 'requests_per_minute' || field === 'concurrent_calls' ? `customer_${field}` : field

/** The limits set by managers and operators, which bound everyone below them. */
export type SettingBounds = Partial<Record<Exclude<KeyAuthority, 'creator'>, KeyBound>>

/** The bound of each setting. */
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
  /** Looser than the bound of a higher authority. */
  | { kind: 'refused'; field: BoundField; setBy: KeyAuthority }

/**
 * Applies an edit by an authority to a key's bounds. Fields bounded from above can be tightened, not loosened; the
 * edit's own limits become bounds for those below.
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

/** The bounded fields of the API for an authority, each with the lowest authority that set it, whose bound is the narrowest. */
export function boundedBy(bounds: SettingBounds, below: KeyAuthority): Record<string, KeyAuthority> {
  const above = (['operator', 'manager'] as const).filter((other) => standsAbove(other, below))
  return Object.fromEntries(
    above.flatMap((by) => Object.keys(bounds[by] ?? {}).map((field) => [apiFieldOf(field), by])),
  )
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

/** Whether a field is limited at least as much as by a bound. */
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

/** Ids without a developer belong to the maker of the wire format that clients use. */
const BARE_IDS_OF = 'openai'

function coversModel(entries: readonly string[], entry: string): boolean {
  const developer = entry.includes('/') ? entry.slice(0, entry.indexOf('/')) : BARE_IDS_OF
  return entries.includes(entry) || entries.includes(`${developer}/*`)
}
