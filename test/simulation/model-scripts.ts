import type { ModelRedis } from './model-redis.ts'

type Script = (redis: ModelRedis, keys: string[], args: string[]) => unknown

/** So many strings. */
type Names<Count extends number, So extends string[] = []> = So['length'] extends Count
  ? So
  : Names<Count, [...So, string]>

const WINDOW_MS = 60_000

/** src/billing/holds/admit.lua, for keys without a spending limit. */
const admit: Script = (redis, keys, args) => {
  const [avail, held, holds, expiry, rate, open, , accountRate, accountOpen, , , , mark] = keys as Names<13>
  const [id, lifetime, amountText, flexible, promptCost, completionRate, limitText] = args as string[]
  const [maxRequests, maxTokens, tokens, maxOpen] = args.slice(7, 11).map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const [limited, key, period] = args.slice(11, 14) as [string, string, string]
  const [accountMaxRequests, accountMaxOpen] = args.slice(14, 16).map(Number) as [number, number]
  if (limited === '1') throw new Error('the model knows no allowances')

  const ofKey = readWindow(redis, rate, maxRequests)
  const ofAccount = readWindow(redis, accountRate, accountMaxRequests)
  let tokensLeft = maxTokens - ofKey.used - ofKey.lastUsed * (1 - ofKey.elapsed)
  const answer = (outcome: string, ...more: unknown[]) => {
    const tighter = ofAccount.left < ofKey.left ? ofAccount : ofKey
    return [
      outcome,
      tighter.max,
      Math.max(0, Math.floor(tighter.left)),
      Math.max(0, Math.floor(tokensLeft)),
      wholeAgainMs(tighter),
      ...more,
    ]
  }
  const job = args[21]!
  if (job !== '' && redis.get(mark) !== null)
    return answer('ok', amountText, limitText, redis.sortedSet(accountOpen).size, 1)
  const previous = redis.hash(holds).get(id!)
  if (previous !== undefined) {
    const [amount, granted] = previous.split(':')
    return answer('ok', amount, granted, redis.sortedSet(accountOpen).size, 0)
  }
  if (args[17] !== '' && redis.nowMs > Number(args[17])) return answer('late')
  if (ofKey.left < 1) return answer('rate', WINDOW_MS, 'key')
  if (ofAccount.left < 1) return answer('rate', WINDOW_MS, 'account')
  if (tokensLeft < tokens) return answer('rate', WINDOW_MS, 'key')
  const [openOfKey, openOfAccount] = [redis.sortedSet(open), redis.sortedSet(accountOpen)]
  const hasSlot = (calls: Map<string, number>, max: number) => {
    if (calls.size < max) return true
    for (const [member, deadline] of calls) if (deadline <= redis.nowMs) calls.delete(member)
    return calls.size < max
  }
  if (!hasSlot(openOfKey, maxOpen)) return answer('concurrency', 1000, 'key')
  if (!hasSlot(openOfAccount, accountMaxOpen)) return answer('concurrency', 1000, 'account')
  if (redis.get(avail) === null) return answer('load-balance')

  const take = (sum: bigint): boolean => {
    if (redis.add(avail, -sum) >= 0n) return true
    redis.add(avail, sum)
    return false
  }
  let amount = BigInt(amountText!)
  let limit = limitText!
  if (!take(amount)) {
    const available = BigInt(redis.get(avail)!)
    const spare = available - BigInt(promptCost!)
    let affords = 0n
    if (spare >= 0n) {
      affords = BigInt(completionRate!) > 0n ? spare / BigInt(completionRate!) : BigInt(limit)
      if (affords > BigInt(limit)) affords = BigInt(limit)
    }
    if (flexible !== '1' || affords < 1n) return answer('balance', String(available), Number(affords))
    amount = BigInt(promptCost!) + affords * BigInt(completionRate!)
    limit = String(affords)
    if (!take(amount)) return answer('balance', String(available), Number(affords))
  }
  redis.add(held, amount)
  redis.hash(holds).set(id!, `${amount}:${limit}:${key}:${period}`)
  redis.sortedSet(expiry).set(id!, redis.nowMs + Number(lifetime))
  for (const calls of [openOfKey, openOfAccount]) calls.set(id!, redis.nowMs + Number(lifetime))
  for (const counts of [ofKey, ofAccount]) countCall(counts, tokens)
  tokensLeft -= tokens
  const isEnqueued = job !== '' && String(amount) === amountText && limit === limitText
  if (isEnqueued) {
    redis.strings.set(mark, '1')
    redis.enqueueCall(id!, JSON.parse(job))
  }
  return answer('ok', String(amount), limit, openOfAccount.size, isEnqueued ? 1 : 0)
}

/** The counts of a sliding window, as admit.lua reads them. */
function readWindow(redis: ModelRedis, counters: string, max: number) {
  const window = Math.floor(redis.nowMs / WINDOW_MS)
  const elapsed = (redis.nowMs % WINDOW_MS) / WINDOW_MS
  const seen = redis.hash(counters)
  const number = (field: string) => Number(seen.get(field) ?? Number.NaN)
  let [requests, used, lastRequests, lastUsed] = [0, 0, 0, 0]
  if (number('window') === window) {
    requests = number('requests')
    used = number('tokens')
    lastRequests = number('last_requests')
    lastUsed = number('last_tokens')
  } else if (number('window') === window - 1) {
    lastRequests = number('requests')
    lastUsed = number('tokens')
  }
  const left = max - requests - lastRequests * (1 - elapsed)
  return { seen, window, elapsed, max, requests, used, lastRequests, lastUsed, left }
}

type WindowCounts = ReturnType<typeof readWindow>

function wholeAgainMs({ requests, lastRequests, elapsed }: WindowCounts): number {
  if (requests > 0) return Math.ceil((2 - elapsed) * WINDOW_MS)
  return lastRequests > 0 ? Math.ceil((1 - elapsed) * WINDOW_MS) : 0
}

function countCall(counts: WindowCounts, tokens: number): void {
  const fields = {
    window: counts.window,
    requests: counts.requests + 1,
    tokens: counts.used + tokens,
    last_requests: counts.lastRequests,
    last_tokens: counts.lastUsed,
  }
  for (const [field, count] of Object.entries(fields)) counts.seen.set(field, String(count))
  counts.requests += 1
  counts.left -= 1
}

/** src/billing/holds/apply.lua, for keys without a spending limit. */
const apply: Script = (redis, keys, args) => {
  const [avail, held, holds, expiry, ver, loading, accountOpen] = keys as Names<7>
  const [prefix, balance, version, epoch, ...settled] = args as [string, string, string, string, ...string[]]
  const load = epoch === '*' || (epoch !== '' && redis.get(loading) === epoch)
  const released: bigint[] = []
  for (let index = 0; index < settled.length; index += 2) {
    const id = settled[index]!
    const hold = redis.hash(holds).get(id)
    if (hold === undefined) continue
    const [amount, , key] = hold.split(':')
    redis.add(held, -BigInt(amount!))
    redis.hash(holds).delete(id)
    redis.sortedSet(expiry).delete(id)
    redis.sortedSet(`${prefix}${key}:open`).delete(id)
    redis.sortedSet(accountOpen).delete(id)
    released.push(BigInt(amount!))
  }
  const known = BigInt(redis.get(ver) ?? '-1')
  const newer = BigInt(version) > known
  const loaded = redis.get(avail) !== null
  if (load && loaded) return [redis.get(avail), redis.get(held) ?? '0', 0]
  if (newer) redis.strings.set(ver, version)
  if ((loaded && newer) || (!loaded && load && BigInt(version) >= known)) {
    redis.strings.set(avail, balance)
    redis.add(avail, -BigInt(redis.get(held) ?? '0'))
  } else if (loaded) {
    for (const amount of released) redis.add(avail, amount)
  }
  return [redis.get(avail), redis.get(held) ?? '0', known < 0n ? 1 : 0]
}

/** src/billing/holds/restore-hold.lua, for keys without a spending limit. */
const restoreHold: Script = (redis, keys, args) => {
  const [avail, held, holds, expiry, open, , accountOpen] = keys as Names<7>
  const [id, amount, limit, key, period, deadline, isOpen] = args as Names<7>
  if (redis.hash(holds).has(id)) return 0
  redis.hash(holds).set(id, `${amount}:${limit}:${key}:${period}`)
  redis.add(held, BigInt(amount))
  redis.sortedSet(expiry).set(id, Number(deadline))
  if (isOpen === '1')
    for (const calls of [open, accountOpen]) redis.sortedSet(calls).set(id, Number(deadline))
  if (redis.get(avail) !== null) redis.add(avail, -BigInt(amount))
  return 1
}

/** `end_call` of src/billing/holds/holds.lua, for keys without a spending limit. */
export const endInGate: Script = (redis, [avail, held, holds, open, accountOpen], [, id, charge]) => {
  for (const calls of [open, accountOpen]) redis.sortedSet(calls!).delete(id!)
  const hold = redis.hash(holds!).get(id!)
  if (hold === undefined) return 0
  const [amount, ...rest] = hold.split(':')
  const freed = BigInt(amount!) - BigInt(charge!)
  if (freed <= 0n) return 0
  redis.hash(holds!).set(id!, [charge, ...rest].join(':'))
  redis.add(held!, -freed)
  if (redis.get(avail!) !== null) redis.add(avail!, freed)
  return 1
}

/** src/billing/holds/inspect.lua */
const inspect: Script = (redis, [avail, held, holds, ver]) => {
  const amounts = [...redis.hash(holds!).values()].map((hold) => hold.split(':')[0]!)
  const low = amounts.reduce((sum, amount) => sum + BigInt(amount.slice(-9)), 0n)
  const high = amounts.reduce((sum, amount) => sum + BigInt(amount.slice(0, -9) || '0'), 0n)
  return [
    redis.get(avail!),
    redis.get(held!) ?? '0',
    redis.get(ver!),
    amounts.length,
    String(high),
    String(low),
  ]
}

/** src/billing/holds/rebuild.lua */
const rebuild: Script = (redis, [avail, held, holds, ver], [balance, version, force]) => {
  const known = redis.get(ver!)
  if (force !== '1' && known !== null && BigInt(known) > BigInt(version!)) return 0
  redis.strings.set(held!, '0')
  for (const hold of redis.hash(holds!).values()) redis.add(held!, BigInt(hold.split(':')[0]!))
  redis.strings.set(avail!, balance!)
  redis.add(avail!, -BigInt(redis.get(held!)!))
  redis.strings.set(ver!, version!)
  return 1
}

/** The script of src/platform/redis/redis-epoch.ts. */
const epoch: Script = (redis, [key]) => {
  if (redis.get(key!) === null) redis.strings.set(key!, `${redis.newEpoch()}:${redis.nowMs}`)
  const [id, since] = redis.get(key!)!.split(':')
  return [id, Math.max(0, redis.nowMs - Number(since))]
}

/** The gateway's scripts by the names they are defined under. */
export const SCRIPTS: Record<string, Script> = {
  syAdmit: admit,
  syApply: apply,
  syRestoreHold: restoreHold,
  syEndCall: endInGate,
  syInspect: inspect,
  syRebuild: rebuild,
  syEpoch: epoch,
}
