/** Requests a minute and calls at once; null: not set. */
export interface RateLimits {
  requestsPerMinute: number | null
  concurrentCalls: number | null
}

/** What was set for a key: by the operator, and by the customer, who may only lower what the operator grants. */
interface KeySettings extends RateLimits {
  customerRequestsPerMinute: number | null
  customerConcurrentCalls: number | null
}

/** What limits the calls of a key. */
export interface LimitSettings extends KeySettings {
  /** Set by the operator for all keys of the account together. */
  accountLimits: RateLimits
}

/** What holds where nothing is set. */
export interface LimitDefaults {
  requestsPerMinute: number
  concurrentCalls: number
  accountRequestsPerMinute: number
  accountConcurrentCalls: number
}

/**
 * The limits a call is admitted by, of its key and of its account over all keys. An account has what the operator
 * set for it; where nothing is set, the default, or what the operator granted the key that asks, if that is more.
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
