import type { BudgetHolder } from '../../core/billing/budget.ts'

/**
 * Every Redis key and channel of the gateway, in one place. Scripts touch those of accounts and of queues together: one
 * server.
 */
const PREFIX = 'sy'

/** BullMQ's key prefix; the braces keep both queues in one slot. */
export const QUEUE_PREFIX = `{${PREFIX}:queues}`

/** The spendable balance of one account and its open holds. See docs/money.md for the algorithm. */
export function accountKeys(accountId: string) {
  const tag = `${PREFIX}:{${accountId}}`
  return {
    /** What may still be spent: base(ver) − held. */
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
    /** Hash: bytes of the heavy bodies among them by call; those of ended calls too, until the next is admitted. */
    bodies: `${tag}:bodies`,
    /** The epoch in which somebody loads the account; gone with the data of that epoch. */
    loading: `${tag}:loading`,
    /** Prefix of all of these. */
    prefix: `${tag}:`,
  }
}

/** Limits of one API key; under its account's hash tag. */
export function apiKeyKeys(accountId: string, keyId: string) {
  const tag = `${accountKeys(accountId).prefix}key:${keyId}`
  return {
    /** As its account's. */
    rate: `${tag}:window`,
    /** Sorted set: open calls by deadline, unix ms. */
    open: `${tag}:open`,
    /** Hash: as its account's. */
    bodies: `${tag}:bodies`,
  }
}

/** What may still be spent of a budget in a period, pico-USD. holds.lua names it the same. */
export const allowanceKey = ({ accountId, ...holder }: BudgetHolder, period: string): string =>
  `${accountKeys(accountId).prefix}${infixOf(holder)}left:${period}`

const infixOf = ({ scope, id }: Pick<BudgetHolder, 'scope' | 'id'>): string =>
  scope === 'account' ? '' : `${scope}:${id}:`

/** The generation of Redis's data, and since when: `<id>:<unix ms>`. A new one means that the data was lost. */
export const EPOCH = `${PREFIX}:epoch`

/** Set once the account was notified that a budget was reached in this period. */
export const limitNoticeKey = ({ accountId, ...holder }: BudgetHolder, period: string): string =>
  `${accountKeys(accountId).prefix}${infixOf(holder)}limit-noted:${period}`

/** Set of account ids whose balance Redis holds. */
export const KNOWN_ACCOUNTS = `${PREFIX}:accounts`

/** Set of account ids of which a call was refused for their balance; see refused-accounts.ts. */
export const REFUSED_ACCOUNTS = `${PREFIX}:refused-accounts`

/** Counts how often the ledger was found older than a balance cache: PostgreSQL lost commits. */
export const LEDGER_LOSSES = `${PREFIX}:ledger-losses`

/** Set for a while after a call was admitted and enqueued in one step: it is not admitted twice. */
export const admittedKey = (callId: string): string => `${PREFIX}:admitted:${callId}`

/** The channel of one API instance for frames. */
export const replyChannel = (apiId: string): string => `${PREFIX}:reply:${apiId}`

/** Hash: charged ends that were published on such a channel and are not acknowledged, see src/calls/relay/unheard-ends.ts. */
export const unheardEndsKey = (channel: string): string => `${channel}:ends`
/** Set: the channels that have such ends, or had. */
export const ENDING_CHANNELS = `${PREFIX}:ending-channels`

/** The channel from API instances to every dispatch worker. */
export const CONTROL_CHANNEL = `${PREFIX}:control`
/** Where one of them does. */
export const controlChannel = (workerId: string): string => `${CONTROL_CHANNEL}:${workerId}`

/** The channel of changes to keys and accounts, and the counter that every API instance polls. */
export const KEYS_CHANNEL = `${PREFIX}:keys:changed`
export const KEYS_VERSION = `${PREFIX}:keys:version`

/** Locks of jobs that one process in the fleet runs at a time. */
export const lockKey = (job: string): string => `${PREFIX}:lock:${job}`

/** When refunds and disputes are next reconciled with the rails, unix ms. */
export const RETURNS_NEXT_AT = `${PREFIX}:payment-returns:next-at`

/** The fleet's state of offers' health. One hash tag, since its scripts touch several of these at once. */
const HEALTH = `${PREFIX}:{health}`
/** Hash: id of an offer or a provider → breaker entry, see src/core/failover/breaker.ts. */
export const HEALTH_BREAKERS = `${HEALTH}:breakers`
/** Hash: offer id → unix ms until which it asked not to be called. */
export const HEALTH_RATE_LIMITED = `${HEALTH}:rate-limited`
/** The channel of changes to the two above. */
export const HEALTH_CHANNEL = `${HEALTH}:changed`
/** Hash: failures and successes of one offer by time bucket. */
export const healthWindow = (offerId: string): string => `${HEALTH}:window:${offerId}`
/** Set: offers at which a provider refused our key. And set while it takes our key at some offer. */
export const healthRefusals = (providerId: string): string => `${HEALTH}:refusals:${providerId}`
export const healthKeyTaken = (providerId: string): string => `${HEALTH}:key-taken:${providerId}`
/** Hash: what calls showed of offers in one slot of time, see src/core/routing/measures.ts. */
export const healthMeasures = (slot: number): string => `${HEALTH}:measures:${slot}`
/** Held by the one call that probes an offer or provider whose breaker is half-open. */
export const healthProbe = (offerId: string): string => `${HEALTH}:probe:${offerId}`

/** Counters of attempts to sign in or up, by what they are counted by. */
export const throttlePrefix = (name: string): string => `${PREFIX}:throttle:${name}`

/** One hash tag, since one script counts an hour's budget and a day's networks together. */
const FREE_CREDIT = `${PREFIX}:{free-credit}`
/** What is left to give of the free credit of an hour since the epoch, pico-USD. */
export const freeCreditBudgetKey = (hour: number): string => `${FREE_CREDIT}:left:${hour}`
/** How many free credits a network was given on a day since the epoch. */
export const freeCreditNetworkKey = (day: number, network: string): string =>
  `${FREE_CREDIT}:network:${day}:${network}`

/** Hash: calls and retries of the fleet by second. */
export const RETRY_BUDGET = `${PREFIX}:retry-budget`

/** Hash: the last step in which a dispatch worker finished calls, and what came of it; see finish-calls.lua. */
export const lastFinishKey = (workerId: string): string => `${PREFIX}:finished:${workerId}`

/** Everything about Idempotency-Keys has one hash tag, since one script bounds what is kept for all accounts. */
const IDEMPOTENCY = `${PREFIX}:{idem}`
/** Hash: what an account's Idempotency-Key stands for, see src/calls/relay/idempotency.ts. */
export const idempotencyKey = (accountId: string, digest: string): string =>
  `${IDEMPOTENCY}:record:${accountId}:${digest}`
/** The sealed answer of a call that carried an Idempotency-Key. */
export const keptReplyKey = (callId: string): string => `${IDEMPOTENCY}:answer:${callId}`
/** Since when records are kept in this Redis, unix ms. Gone with its data. */
export const IDEMPOTENCY_SINCE = `${IDEMPOTENCY}:since`
/** Prefix of marks, one an account: records of it were dropped before their time. */
export const IDEMPOTENCY_DROPPED = `${IDEMPOTENCY}:dropped:`
/** Prefixes of the keys that count what is kept, see src/calls/relay/idempotency.ts. */
export const IDEMPOTENCY_RECORDS = `${IDEMPOTENCY}:records`
export const IDEMPOTENCY_ANSWERS = `${IDEMPOTENCY}:answers`

/** What operators watch. One hash tag, since each process writes its part in one pipeline. */
const OPERATIONS = `${PREFIX}:{ops}`
/** Sorted set: id of each process by the unix ms of its last report. */
export const PROCESSES = `${OPERATIONS}:processes`
/** Written to see whether Redis takes writes. */
export const readinessKey = (apiId: string): string => `${OPERATIONS}:ready:${apiId}`
/** The last report of one process, as JSON; gone when it says nothing for a while. */
export const processKey = (processId: string): string => `${OPERATIONS}:process:${processId}`
/** Hash: `<second of the minute>:<figure>` → count, of one minute since the epoch. */
export const trafficKey = (minute: number): string => `${OPERATIONS}:traffic:${minute}`
/** Capped stream of alarms on their way to PostgreSQL. */
export const ALARMS = `${OPERATIONS}:alarms`
/** The audit of the ledger, one at a time in the fleet. */
export const AUDIT_JOB = 'audit'
/** Set while an operator waits for an audit to begin. */
export const AUDIT_ASKED = `${OPERATIONS}:audit-asked`
/** No scheduled audit before this, unix ms. */
export const AUDIT_RESTS_UNTIL = `${OPERATIONS}:audit-rests-until`

/** Hash: what the fleet adds to the catalog, by part, and the version that changes with any of it. */
export const CATALOG_OVERLAY = `${PREFIX}:catalog:overlay`
/** The channel of new versions of it. */
export const CATALOG_CHANNEL = `${PREFIX}:catalog:changed`
/** Hash: provider → what its own list of models last said, as JSON. */
export const CATALOG_LISTINGS = `${PREFIX}:catalog:listings`
