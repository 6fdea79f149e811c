/** Requests per minute and concurrent calls; null: not set. */
export interface RateLimits {
  requestsPerMinute: number | null
  concurrentCalls: number | null
}

/** The settings of a key: by the operator, and by the customer, who may only lower the operator's. */
interface KeySettings extends RateLimits {
  customerRequestsPerMinute: number | null
  customerConcurrentCalls: number | null
}

export interface LimitSettings extends KeySettings {
  /** Set by the operator for all keys of the account together. */
  accountLimits: RateLimits
}

export interface LimitDefaults {
  requestsPerMinute: number
  concurrentCalls: number
  accountRequestsPerMinute: number
  accountConcurrentCalls: number
}

/**
 * The limits for admitting a call, of its key and of its account over all keys. The account's limit is the operator's
 * setting, or else the larger of the default and the operator's setting for the calling key.
 */
export function effectiveLimits(settings: LimitSettings, defaults: LimitDefaults): LimitDefaults {
  const { requestsPerMinute, concurrentCalls, accountLimits } = settings
  return {
    ...keyLimits(settings, defaults),
    accountRequestsPerMinute:
      accountLimits.requestsPerMinute ?? Math.max(defaults.accountRequestsPerMinute, requestsPerMinute ?? 0),
    accountConcurrentCalls:
      accountLimits.concurrentCalls ?? Math.max(defaults.accountConcurrentCalls, concurrentCalls ?? 0),
  }
}

/** The limits of a key by itself: what the operator set for it, or the default; the customer may lower either. */
export function keyLimits(
  key: KeySettings,
  defaults: LimitDefaults,
): Pick<LimitDefaults, 'requestsPerMinute' | 'concurrentCalls'> {
  const least = (granted: number, wanted: number | null) => Math.min(granted, wanted ?? granted)
  return {
    requestsPerMinute: least(
      key.requestsPerMinute ?? defaults.requestsPerMinute,
      key.customerRequestsPerMinute,
    ),
    concurrentCalls: least(key.concurrentCalls ?? defaults.concurrentCalls, key.customerConcurrentCalls),
  }
}
