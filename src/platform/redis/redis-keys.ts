import type { BudgetHolder } from '../../core/billing/budget.ts'

/**
 * All Redis keys and channels of the gateway. Scripts use keys of accounts and of queues together, so all must be on
 * one server.
 */
const PREFIX = 'sy'

/** BullMQ's key prefix; the braces keep both queues in one slot. */
export const QUEUE_PREFIX = `{${PREFIX}:queues}`

/** The spendable balance and the open holds of an account. See docs/money.md for the algorithm. */
export function accountKeys(accountId: string) {
  const tag = `${PREFIX}:{${accountId}}`
  return {
    /** The spendable amount: base(ver) − held. */
    avail: `${tag}:avail`,
    held: `${tag}:held`,
    /** Hash: hold id → `<amount>:<completion limit>:<key id>:<draws>`; see holds.lua. */
    holds: `${tag}:holds`,
    /** Sorted set: hold id by deadline, unix ms. */
    expiry: `${tag}:expiry`,
    /** The ledger version that `avail` was computed from. */
    ver: `${tag}:ver`,
    /** Sliding-window counts of requests and tokens of all keys together, as text; see admit.lua. */
    rate: `${tag}:window`,
    /** Sorted set: open calls of all keys by deadline, unix ms. */
    open: `${tag}:open`,
    /** Hash: bytes of heavy bodies by call; includes ended calls until the next admission. */
    bodies: `${tag}:bodies`,
    /** The epoch in which a process loads the account; lost with the data of that epoch. */
    loading: `${tag}:loading`,
    /** Prefix of all these keys. */
    prefix: `${tag}:`,
  }
}

/** Limits of one API key, under its account's hash tag. */
export function apiKeyKeys(accountId: string, keyId: string) {
  const tag = `${accountKeys(accountId).prefix}key:${keyId}`
  return {
    /** As for the account. */
    rate: `${tag}:window`,
    /** Sorted set: open calls by deadline, unix ms. */
    open: `${tag}:open`,
    /** Hash: as for the account. */
    bodies: `${tag}:bodies`,
  }
}

/** The remaining amount of a budget in a period, pico-USD. holds.lua builds the same key. */
export const allowanceKey = ({ accountId, ...holder }: BudgetHolder, period: string): string =>
  `${accountKeys(accountId).prefix}${infixOf(holder)}left:${period}`

const infixOf = ({ scope, id }: Pick<BudgetHolder, 'scope' | 'id'>): string =>
  scope === 'account' ? '' : `${scope}:${id}:`

/** The generation of Redis's data and its start: `<id>:<unix ms>`. A new one means that data was lost. */
export const EPOCH = `${PREFIX}:epoch`

/** Set once the account was notified that it reached a budget in this period. */
export const limitNoticeKey = ({ accountId, ...holder }: BudgetHolder, period: string): string =>
  `${accountKeys(accountId).prefix}${infixOf(holder)}limit-noted:${period}`

/** Set of account ids whose balance is in Redis. */
export const KNOWN_ACCOUNTS = `${PREFIX}:accounts`

/** Set of account ids that had a call refused for lack of balance; see refused-accounts.ts. */
export const REFUSED_ACCOUNTS = `${PREFIX}:refused-accounts`

/** Counts how often the ledger was older than a balance cache: PostgreSQL lost commits. */
export const LEDGER_LOSSES = `${PREFIX}:ledger-losses`

/** Set for a while after a call was admitted and enqueued in one step, so that it is not admitted twice. */
export const admittedKey = (callId: string): string => `${PREFIX}:admitted:${callId}`

/** The channel of one API instance for frames. */
export const replyChannel = (apiId: string): string => `${PREFIX}:reply:${apiId}`

/** Hash: charged ends published on a channel and not acknowledged, see src/calls/api/end-acknowledgements.ts. */
export const unacknowledgedEndsKey = (channel: string): string => `${channel}:ends`
/** Set: the channels that have such ends, or had. */
export const ENDING_CHANNELS = `${PREFIX}:ending-channels`

/** The channel from API instances to all dispatch workers. */
export const CONTROL_CHANNEL = `${PREFIX}:control`
/** The channel from API instances to one dispatch worker. */
export const controlChannel = (workerId: string): string => `${CONTROL_CHANNEL}:${workerId}`

/** The channel of changes to keys and accounts, and the counter that every API instance polls. */
export const KEYS_CHANNEL = `${PREFIX}:keys:changed`
export const KEYS_VERSION = `${PREFIX}:keys:version`

/** Locks of jobs that one process in the fleet runs at a time. */
export const lockKey = (job: string): string => `${PREFIX}:lock:${job}`

/** When refunds and disputes are reconciled with the rails next, unix ms. */
export const RETURNS_NEXT_AT = `${PREFIX}:payment-returns:next-at`

/** The fleet's state of offers' health. One hash tag, since scripts use several of these keys at once. */
const HEALTH = `${PREFIX}:{health}`
/** Hash: id of an offer or a provider → breaker entry, see src/core/failover/circuit-breaker.ts. */
export const HEALTH_BREAKERS = `${HEALTH}:breakers`
/** Hash: offer id → unix ms until which the provider asked for no requests. */
export const HEALTH_RATE_LIMITED = `${HEALTH}:rate-limited`
/** The channel of changes to these two. */
export const HEALTH_CHANNEL = `${HEALTH}:changed`
/** Hash: failures and successes of one offer by time bucket. */
export const healthWindow = (offerId: string): string => `${HEALTH}:window:${offerId}`
/** Set: offers at which a provider refused our key. The second key is set while any offer accepts it. */
export const healthRefusals = (providerId: string): string => `${HEALTH}:refusals:${providerId}`
export const healthKeyTaken = (providerId: string): string => `${HEALTH}:key-taken:${providerId}`
/** Hash: measurements of offers in one time slot, see src/core/routing/measures.ts. */
export const healthMeasures = (slot: number): string => `${HEALTH}:measures:${slot}`
/** Held by the one call that probes an offer or provider with a half-open breaker. */
export const healthProbe = (offerId: string): string => `${HEALTH}:probe:${offerId}`

/** Counters of sign-in and sign-up attempts, by what is counted. */
export const throttlePrefix = (name: string): string => `${PREFIX}:throttle:${name}`

/** One hash tag, since one script counts an hour's budget and a day's networks together. */
const FREE_CREDIT = `${PREFIX}:{free-credit}`
/** The remaining free credit of an hour since the epoch, pico-USD. */
export const freeCreditBudgetKey = (hour: number): string => `${FREE_CREDIT}:left:${hour}`
/** Number of free credits of a network on a day since the epoch. */
export const freeCreditNetworkKey = (day: number, network: string): string =>
  `${FREE_CREDIT}:network:${day}:${network}`

/** Hash: calls and retries of the fleet by second. */
export const RETRY_BUDGET = `${PREFIX}:retry-budget`

/** Hash: the last step in which a dispatch worker finished calls, and its result; see finish-calls.lua. */
export const lastFinishKey = (workerId: string): string => `${PREFIX}:finished:${workerId}`

/** One hash tag for everything about Idempotency-Keys, since one script bounds what is kept for all accounts. */
const IDEMPOTENCY = `${PREFIX}:{idem}`
/** Hash: the record of an account's Idempotency-Key, see src/calls/protocol/idempotency.ts. */
export const idempotencyKey = (accountId: string, digest: string): string =>
  `${IDEMPOTENCY}:record:${accountId}:${digest}`
/** The sealed response of a call with an Idempotency-Key. */
export const keptCompletionKey = (callId: string): string => `${IDEMPOTENCY}:answer:${callId}`
/** Since when this Redis has records, unix ms. Lost with its data. */
export const IDEMPOTENCY_SINCE = `${IDEMPOTENCY}:since`
/** Prefix of marks, one per account, that records of it were dropped early. */
export const IDEMPOTENCY_DROPPED = `${IDEMPOTENCY}:dropped:`
/** Prefixes of the counters of kept records, see src/calls/protocol/idempotency.ts. */
export const IDEMPOTENCY_RECORDS = `${IDEMPOTENCY}:records`
export const IDEMPOTENCY_ANSWERS = `${IDEMPOTENCY}:answers`

/** Data for operators. One hash tag, since each process writes its part in one pipeline. */
const OPERATIONS = `${PREFIX}:{ops}`
/** Sorted set: id of each process by the unix ms of its last report. */
export const PROCESSES = `${OPERATIONS}:processes`
/** Written to test whether Redis accepts writes. */
export const readinessKey = (apiId: string): string => `${OPERATIONS}:ready:${apiId}`
/** The last report of one process, as JSON; expires when it stops reporting. */
export const processKey = (processId: string): string => `${OPERATIONS}:process:${processId}`
/** Hash: `<second of the minute>:<figure>` → count, of one minute since the epoch. */
export const trafficKey = (minute: number): string => `${OPERATIONS}:traffic:${minute}`
/** Capped stream of alarms on their way to PostgreSQL. */
export const ALARMS = `${OPERATIONS}:alarms`
/** Name of the lock of the ledger audit. */
export const AUDIT_JOB = 'audit'
/** Set while an operator waits for an audit to start. */
export const AUDIT_ASKED = `${OPERATIONS}:audit-asked`
/** No scheduled audit before this time, unix ms. */
export const AUDIT_RESTS_UNTIL = `${OPERATIONS}:audit-rests-until`

/** Hash: the fleet's additions to the catalog, by part, and the version that changes with any of them. */
export const CATALOG_OVERLAY = `${PREFIX}:catalog:overlay`
/** The channel of new overlay versions. */
export const CATALOG_CHANNEL = `${PREFIX}:catalog:changed`
/** Hash: provider → its last list of models, as JSON. */
export const CATALOG_LISTINGS = `${PREFIX}:catalog:listings`
