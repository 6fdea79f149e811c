import { crc32 } from 'node:zlib'
import { type BudgetHolder, groupName } from '../../core/billing/budget.ts'
import { isGroupScope } from '../../core/billing/group-scopes.ts'

/**
 * All Redis keys and channels of the gateway. Accounts are spread over shards. Everything of an account has the hash tag
 * of its shard, and so have the shard's queues, since scripts use both together: in a cluster a tag is one slot. What
 * belongs to the whole fleet is kept with the first shard.
 */
const tagOf = (shard: number): string => `{sy:${shard}}`
const FLEET = tagOf(0)

/** The number of shards of an installation, as every Redis client carries it. It never changes. */
export interface Sharded {
  readonly shards: number
}

const ONE_SHARD: Sharded = { shards: 1 }

/** The shard of an account: CRC-32 of its id, modulo the number of shards. Keys depend on it, so it may never change. */
export const shardOf = (accountId: string, { shards }: Sharded): number =>
  shards === 1 ? 0 : crc32(accountId) % shards

/** The shard whose tag a key has. */
export const shardOfKey = (key: string): number => Number(/^\{sy:(\d+)\}/.exec(key)?.[1])

export const shardNumbers = ({ shards }: Sharded): number[] =>
  Array.from({ length: shards }, (_, shard) => shard)

/** The subject of an alarm about one shard. None where there is one: the alarm is about Redis. */
export const shardSubject = (shard: number, { shards }: Sharded): { subject?: string } =>
  shards === 1 ? {} : { subject: `shard ${shard}` }

/**
 * A key that never exists. Where a slot moves between the nodes of a cluster, a script that names it is refused before it
 * begins, and not in its middle at the first key that has moved. For scripts that also use keys that they do not name.
 */
const absentKey = (shard: number): string => `${tagOf(shard)}:absent`

/** BullMQ's key prefix of a shard's queues. The fleet's own queues (mail, events, catalog) are with the first shard. */
export const queuePrefix = (shard: number): string => tagOf(shard)

/** The spendable balance and the open holds of an account. See docs/money.md for the algorithm. */
export function accountKeys(accountId: string, sharded: Sharded = ONE_SHARD) {
  const shard = shardOf(accountId, sharded)
  const tag = `${tagOf(shard)}:${accountId}`
  return {
    /** Hash: balance, holds, and use of the limits of the account and its keys; see holds.lua, also for the name. */
    record: `${tag}:ver`,
    /** The epoch in which a process loads the account; lost with the data of that epoch. */
    loading: `${tag}:loading`,
    absent: absentKey(shard),
    /** Prefix of all these keys. */
    prefix: `${tag}:`,
  }
}

/** The remaining amount of a budget in a period, pico-USD. holds.lua builds the same key. */
export const allowanceKey = (
  { accountId, ...holder }: BudgetHolder,
  period: string,
  sharded: Sharded = ONE_SHARD,
): string => `${accountKeys(accountId, sharded).prefix}${infixOf(holder)}left:${period}`

const infixOf = (holder: Pick<BudgetHolder, 'scope' | 'id'>): string => {
  const { scope, id } = holder
  if (isGroupScope(scope)) return `group:${groupName(holder)}:`
  return scope === 'account' ? '' : `${scope}:${id}:`
}

/** The candidate that a conversation is on, as `<since, unix ms> <target>`; see src/core/routing/affinity.ts. Scripts build the same key. */
export const conversationKey = (
  accountId: string,
  conversation: number,
  sharded: Sharded = ONE_SHARD,
): string => `${accountKeys(accountId, sharded).prefix}conversation:${conversation}`

/** The generation of a shard's data and its start: `<id>:<unix ms>`. A new one means that data was lost. */
export const epochKey = (shard: number): string => `${tagOf(shard)}:epoch`

/** Set once the account was notified that it reached a budget in this period. */
export const limitNoticeKey = (
  { accountId, ...holder }: BudgetHolder,
  period: string,
  sharded: Sharded,
): string => `${accountKeys(accountId, sharded).prefix}${infixOf(holder)}limit-noted:${period}`

/** Set of ids of a shard's accounts that have open holds, or changed since maintenance compared them; see holds.lua. */
export const listedAccounts = (shard: number): string => `${tagOf(shard)}:accounts`

/** Set of account ids that had a call refused for lack of balance; see refused-accounts.ts. */
export const REFUSED_ACCOUNTS = `${FLEET}:refused-accounts`

/** Counts how often the ledger was older than a balance cache: PostgreSQL lost commits. */
export const LEDGER_LOSSES = `${FLEET}:ledger-losses`

/** Set for a while after a call was admitted and enqueued in one step, so that it is not admitted twice. */
export const admittedKey = (callId: string, shard: number): string => `${tagOf(shard)}:admitted:${callId}`

/** The channel of one API instance for frames of a shard's calls. */
export const replyChannel = (apiId: string, shard = 0): string => `${tagOf(shard)}:reply:${apiId}`

/** Hash: ends published on a channel and not acknowledged, see src/calls/api/end-acknowledgements.ts. */
export const unacknowledgedEndsKey = (channel: string): string => `${channel}:ends`
/** Set: the channels of a shard that have such ends, or had. finish-calls.lua builds the same key, and `<tag>:finished:<worker>`. */
export const endingChannels = (shard: number): string => `${tagOf(shard)}:ending-channels`

/** The channel from API instances to one dispatch worker of a shard. */
export const controlChannel = (workerId: string, shard = 0): string => `${tagOf(shard)}:control:${workerId}`

/** The channel of changes to keys and accounts, and the counter that every API instance polls. */
export const KEYS_CHANNEL = `${FLEET}:keys:changed`
export const KEYS_VERSION = `${FLEET}:keys:version`

/** Locks of jobs that one process in the fleet runs at a time, or one for each shard. */
export const lockKey = (job: string, shard = 0): string => `${tagOf(shard)}:lock:${job}`

/** When refunds and disputes are reconciled with the rails next, unix ms. */
export const RETURNS_NEXT_AT = `${FLEET}:payment-returns:next-at`
/** Until when they were last reconciled completely, unix ms. */
export const RETURNS_PROVEN_UNTIL = `${FLEET}:payment-returns:proven-until`

/** The fleet's state of offers' health. */
const HEALTH = `${FLEET}:health`
/** Hash: id of an offer or a provider → breaker entry, see src/core/failover/circuit-breaker.ts. */
export const HEALTH_BREAKERS = `${HEALTH}:breakers`
/** Hash: offer id → unix ms until which the provider asked for no requests. */
export const HEALTH_RATE_LIMITED = `${HEALTH}:rate-limited`
/** Hash: offer and kinds of content → what it adds to prompts, see src/core/routing/learned-tokens.ts. */
export const HEALTH_LEARNED = `${HEALTH}:learned`
/** Hash: key of a pool and provider or offer → what is known of it, see src/core/failover/key-health.ts. */
export const HEALTH_KEYS = `${HEALTH}:keys`
/** Hash: what keys with limits were used for in the minute, day or month from a time on, by provider, key and measure. */
export const healthKeyUsage = (span: string, startMs: number): string =>
  `${HEALTH}:key-usage:${span}:${startMs}`
/** The channel of changes to these, besides usage. */
export const HEALTH_CHANNEL = `${HEALTH}:changed`
/** Hash: failures and successes of one offer by time bucket. */
export const healthWindow = (offerId: string): string => `${HEALTH}:window:${offerId}`
/** Set: offers at which a provider refused our key. The second key is set while any offer accepts it. */
export const healthRefusals = (providerId: string): string => `${HEALTH}:refusals:${providerId}`
export const healthKeyTaken = (providerId: string): string => `${HEALTH}:key-taken:${providerId}`
/** Set: accounts for whose prompts an offer is excluded, by offer and kinds of content. */
export const healthExclusions = (subject: string): string => `${HEALTH}:exclusions:${subject}`
/** Hash: measurements of offers in one time slot, see src/core/routing/measures.ts. */
export const healthMeasures = (slot: number): string => `${HEALTH}:measures:${slot}`
/** Held by the one call that probes an offer or provider with a half-open breaker. */
export const healthProbe = (offerId: string): string => `${HEALTH}:probe:${offerId}`

/** Counters of sign-in and sign-up attempts, by what is counted. */
export const throttlePrefix = (name: string): string => `${FLEET}:throttle:${name}`

const FREE_CREDIT = `${FLEET}:free-credit`
/** The remaining free credit of an hour since the epoch, pico-USD. */
export const freeCreditBudgetKey = (hour: number): string => `${FREE_CREDIT}:left:${hour}`
/** Number of free credits of a network on a day since the epoch. */
export const freeCreditNetworkKey = (day: number, network: string): string =>
  `${FREE_CREDIT}:network:${day}:${network}`

/** Hash: calls and retries of the fleet by second. */
export const RETRY_BUDGET = `${FLEET}:retry-budget`

/** Everything about the Idempotency-Keys of a shard's accounts. One script bounds what is kept for all of them. */
export function idempotencyKeys(shard: number) {
  const tag = `${tagOf(shard)}:idem`
  return {
    /** Hash: the record of an account's Idempotency-Key, see src/calls/protocol/idempotency.ts. */
    record: (accountId: string, digest: string): string => `${tag}:record:${accountId}:${digest}`,
    /** The sealed response of a call with an Idempotency-Key. */
    answer: (callId: string): string => `${tag}:answer:${callId}`,
    /** Since when this Redis has records, unix ms. Lost with its data. */
    since: `${tag}:since`,
    /** Prefix of marks, one per account, that records of it were dropped early. */
    dropped: `${tag}:dropped:`,
    absent: absentKey(shard),
    /** Prefixes of the counters of what is kept. */
    records: `${tag}:records`,
    answers: `${tag}:answers`,
  }
}

/** The response cache of a shard's accounts. */
export function responseCacheKeys(shard: number) {
  const tag = `${tagOf(shard)}:cached`
  return {
    /** A sealed response, see src/calls/protocol/response-cache.ts. */
    entry: (accountId: string, digest: string): string => `${tag}:${accountId}:${digest}`,
    absent: absentKey(shard),
    /** Prefix of the counters of what is stored. */
    counts: `${tag}:counts`,
  }
}

/** Data for operators. */
const OPERATIONS = `${FLEET}:ops`
/** Sorted set: id of each process by the unix ms of its last report. */
export const PROCESSES = `${OPERATIONS}:processes`
/** Written to test whether Redis accepts writes. */
export const readinessKey = (apiId: string, shard: number): string => `${tagOf(shard)}:ops:ready:${apiId}`
/** The last report of one process, as JSON; expires when it stops reporting. */
export const processKey = (processId: string): string => `${OPERATIONS}:process:${processId}`
/** Hash: `<second of the minute>:<figure>` → count, of one minute since the epoch. */
export const trafficKey = (minute: number): string => `${OPERATIONS}:traffic:${minute}`
/** Capped stream of alarms on their way to PostgreSQL. */
export const ALARMS = `${OPERATIONS}:alarms`
/** Name of the lock of the ledger audit. */
export const AUDIT_JOB = 'audit'
/** `full` or `new` while an operator waits for such an audit to start. */
export const AUDIT_ASKED = `${OPERATIONS}:audit-asked`
/** No scheduled audit before this time, unix ms. */
export const AUDIT_RESTS_UNTIL = `${OPERATIONS}:audit-rests-until`
/** How many audits have failed in a row. */
export const AUDIT_FAILURES = `${OPERATIONS}:audit-failures`

/** Hash: the fleet's additions to the catalog, by part, and the version that changes with any of them. */
export const CATALOG_OVERLAY = `${FLEET}:catalog:overlay`
/** The channel of new overlay versions. */
export const CATALOG_CHANNEL = `${FLEET}:catalog:changed`
/** Hash: provider → its last list of models, as JSON. */
export const CATALOG_LISTINGS = `${FLEET}:catalog:listings`
