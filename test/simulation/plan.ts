import { shardOf } from '../../src/platform/redis/redis-keys.ts'
import { SeededRandom } from './seeded-random.ts'

/** What happens in a run besides what the gateway does by itself, and when (ms from the start). */
export type PlannedEvent = { atMs: number } & (
  | { do: 'call'; account: number; seed: number }
  | { do: 'hang-up'; call: number }
  | { do: 'credit'; account: number; amountPico: bigint }
  | { do: 'kill-api' | 'kill-dispatch' | 'kill-settlement'; backAfterMs: number }
  | { do: 'pause-dispatch' | 'pause-settlement'; forMs: number }
  | { do: 'postgres-away'; forMs: number }
  /** `server`: of Redis. */
  | { do: 'redis-away' | 'redis-replaced'; server: number; forMs: number }
  | { do: 'redis-emptied'; server: number }
  /**
   * Redis goes away after `lostMs`, and comes back as it is now; or, where the plan says so, as it is when the next call
   * waits for its claim.
   */
  | { do: 'redis-rolled-back'; server: number; lostMs: number; forMs: number; untilEnqueued: boolean }
  | { do: 'maintain' }
  /** An API instance that stops gives up the calls it still has. */
  | { do: 'give-up-calls' }
)

/** What bounds the one key of an account, besides the balance; null: nothing. */
export interface PlannedBudgets {
  keyPico: bigint | null
  memberPico: bigint | null
  accountPico: bigint | null
}

export interface Plan {
  /** How many parts the accounts are spread over. */
  shards: number
  /** Of Redis. Shard `i` is on server `i` modulo their number. */
  servers: number
  /** Processes that settle at once. */
  settlers: number
  /** After a reconnect, calls wait until a message of their API instance arrives; in the other seeds they are under way meanwhile. */
  checksChannels: boolean
  accountIds: string[]
  openingPico: bigint[]
  /** Of each account. */
  budgets: PlannedBudgets[]
  /** API instances and dispatch workers come in pairs, each in one process. */
  isOneProcess: boolean
  /** Each attempt of a provider says something else. */
  isUnlike: boolean
  events: PlannedEvent[]
}

/** About what one call holds. */
const CALL_PICO = 110_000_000n

/** Seeds below are older than shards: whatever they stand for, it happens in one, with one process that settles. */
export const SHARDED_FROM = 100_000

/** What a seed stands for. */
export function planOf(seed: number): Plan {
  const random = new SeededRandom(seed)
  const { extraAccounts, ...spread } = spreadOf(seed)
  const accounts = random.whole(1, 2) + extraAccounts
  const openingPico = Array.from({ length: accounts }, () => (CALL_PICO * BigInt(random.whole(3, 60))) / 10n)
  const events: PlannedEvent[] = []
  const callAt = (atMs: number) =>
    events.push({ do: 'call', atMs, account: random.whole(0, accounts - 1), seed: random.whole(1, 2 ** 30) })
  const calls = random.whole(2, 8)
  for (let call = 0; call < calls; call++) {
    const atMs = random.chance(0.7) ? random.whole(0, 300) : random.whole(0, 4_000)
    callAt(atMs)
    if (random.chance(0.15)) events.push({ do: 'hang-up', atMs: atMs + random.whole(0, 800), call })
  }
  const faults = random.whole(0, 4)
  for (let fault = 0; fault < faults; fault++) {
    const event = faultAt(random.chance(0.3) ? random.whole(0, 500) : random.whole(0, 3_000), random)
    events.push(event)
    // Whoever calls right after a fault meets it at its worst.
    if (random.chance(0.7)) callAt(event.atMs + random.whole(0, 800))
  }
  if (random.chance(0.3))
    events.push({ do: 'credit', atMs: random.whole(0, 2_000), account: 0, amountPico: CALL_PICO })
  events.push(...rollBackOf(seed), ...outageOf(seed))
  placeFaults(events, seed, spread.servers)
  return {
    ...spread,
    accountIds: accountsIn(seed, spread.shards, accounts),
    openingPico,
    budgets: openingPico.map((_, account) => budgetsOf(seed, account)),
    isOneProcess: new SeededRandom(seed ^ 0x0a11).chance(0.4),
    isUnlike: events.some((event) => event.do === 'redis-rolled-back'),
    events: events.sort((a, b) => a.atMs - b.atMs),
  }
}

/** Of a random source of its own, as all that follows: it changes no other part of a plan. */
function spreadOf(seed: number) {
  if (seed < SHARDED_FROM)
    return { shards: 1, servers: 1, settlers: 1, checksChannels: false, extraAccounts: 0 }
  const random = new SeededRandom(seed ^ 0x54a2d5)
  const shards = random.whole(1, 4)
  return {
    shards,
    servers: random.whole(1, shards),
    settlers: random.whole(1, 3),
    checksChannels: seed % 2 === 1,
    extraAccounts: shards === 1 ? 0 : random.whole(0, 2),
  }
}

/** Ids of accounts, each of a shard drawn for it. */
function accountsIn(seed: number, shards: number, accounts: number): string[] {
  const random = new SeededRandom(seed ^ 0xacc7)
  const ids: string[] = []
  for (let next = 0; ids.length < accounts; ) {
    const wanted = shards === 1 ? 0 : random.whole(0, shards - 1)
    while (shardOf(`acct_${next}`, { shards }) !== wanted) next += 1
    ids.push(`acct_${next++}`)
  }
  return ids
}

/** Draws the server of Redis that each fault of Redis is about. */
function placeFaults(events: readonly PlannedEvent[], seed: number, servers: number): void {
  const random = new SeededRandom(seed ^ 0x5e2f)
  for (const event of events) if ('server' in event) event.server = random.whole(0, servers - 1)
}

function budgetsOf(seed: number, account: number): PlannedBudgets {
  const random = new SeededRandom((seed ^ 0xb0d9e7) + account)
  const budget = () => (random.chance(0.3) ? (CALL_PICO * BigInt(random.whole(5, 60))) / 10n : null)
  return { keyPico: budget(), memberPico: budget(), accountPico: budget() }
}

function rollBackOf(seed: number): PlannedEvent[] {
  const random = new SeededRandom(seed ^ 0x0c1d)
  if (!random.chance(0.12)) return []
  return [
    {
      do: 'redis-rolled-back',
      server: 0,
      atMs: random.whole(0, 300),
      lostMs: random.whole(5, 900),
      forMs: random.whole(10, 400),
      untilEnqueued: random.chance(0.7),
    },
  ]
}

/** PostgreSQL is away until the holds of settlements that wait are old enough for maintenance to look after them. */
function outageOf(seed: number): PlannedEvent[] {
  const random = new SeededRandom(seed ^ 0x0d1e)
  if (seed < SHARDED_FROM || !random.chance(0.04)) return []
  const [atMs, forMs] = [random.whole(100, 900), random.whole(62_000, 66_000)]
  return [
    { do: 'postgres-away', atMs, forMs },
    { do: 'maintain', atMs: atMs + forMs + random.whole(50, 1_000) },
  ]
}

function faultAt(atMs: number, random: SeededRandom): PlannedEvent {
  const forMs = random.chance(0.5) ? random.whole(10, 400) : random.whole(400, 2_500)
  const kind = random.pick([
    'kill-api',
    'kill-dispatch',
    'kill-dispatch',
    'kill-settlement',
    'pause-dispatch',
    'pause-settlement',
    'redis-away',
    'redis-emptied',
    'redis-replaced',
    'postgres-away',
    'maintain',
    'give-up-calls',
  ] as const)
  switch (kind) {
    case 'kill-api':
    case 'kill-dispatch':
    case 'kill-settlement':
      return { do: kind, atMs, backAfterMs: forMs }
    case 'pause-dispatch':
    case 'pause-settlement':
    case 'postgres-away':
      return { do: kind, atMs, forMs }
    case 'redis-away':
    case 'redis-replaced':
      return { do: kind, atMs, server: 0, forMs }
    case 'redis-emptied':
      return { do: kind, atMs, server: 0 }
    case 'maintain':
    case 'give-up-calls':
      return { do: kind, atMs }
  }
}
