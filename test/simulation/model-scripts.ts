import type { ModelRedis } from './model-redis.ts'

type Script = (redis: ModelRedis, keys: string[], args: string[]) => unknown

/** So many strings. */
type Names<Count extends number, So extends string[] = []> = So['length'] extends Count
  ? So
  : Names<Count, [...So, string]>

const WINDOW_MS = 60_000

/** src/billing/holds/admit.lua */
const admit: Script = (redis, keys, args) => {
  const [avail, held, holds, expiry, rate, open, accountRate, accountOpen, , , , mark] = keys as Names<12>
  const allowances = keys.slice(12)
  const [id, lifetime, amountText, flexible, promptCost, completionRate, limitText] = args as string[]
  const [maxRequests, maxTokens, tokens, maxOpen] = args.slice(7, 11).map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const [key, draws] = args.slice(11, 13) as [string, string]
  const [accountMaxRequests, accountMaxOpen] = args.slice(13, 15).map(Number) as [number, number]

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
  const job = args[20]!
  const marked = redis.get(mark)
  if (job !== '' && marked !== null)
    return answer('ok', amountText, limitText, redis.sortedSet(accountOpen).size, Number(marked))
  const previous = redis.hash(holds).get(id!)
  if (previous !== undefined) {
    const [amount, granted] = previous.split(':')
    return answer('ok', amount, granted, redis.sortedSet(accountOpen).size, 0)
  }
  if (args[16] !== '' && redis.nowMs > Number(args[16])) return answer('late')
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
  const missing = allowances.flatMap((left, index) => (redis.get(left) === null ? index + 1 : []))
  if (missing.length > 0) return answer('load-allowance', ...missing)

  const bounds = [avail, ...allowances]
  const left = () => bounds.map((bound) => BigInt(redis.get(bound)!))
  /** What was short: the balance, or the budget that has least left. */
  let short: [outcome: string, budget?: number] | null = null
  const take = (sum: bigint): boolean => {
    const [balance, ...rests] = left().map((amount) => amount - sum)
    const least = rests.reduce((one, other) => (other < one ? other : one), 0n)
    const budget = least < 0n ? rests.indexOf(least) + 1 : undefined
    short = balance! < 0n ? ['balance'] : budget === undefined ? null : ['allowance', budget]
    if (short !== null) return false
    for (const bound of bounds) redis.add(bound, -sum)
    return true
  }
  const refused = (available: bigint, affords: bigint) => {
    const [outcome, budget] = short!
    return answer(outcome, String(available), Number(affords), ...(budget === undefined ? [] : [budget]))
  }
  let amount = BigInt(amountText!)
  let limit = limitText!
  if (!take(amount)) {
    const available = left().reduce((one, other) => (other < one ? other : one))
    const spare = available - BigInt(promptCost!)
    let affords = 0n
    if (spare >= 0n) {
      affords = BigInt(completionRate!) > 0n ? spare / BigInt(completionRate!) : BigInt(limit)
      if (affords > BigInt(limit)) affords = BigInt(limit)
    }
    if (flexible !== '1' || affords < 1n) return refused(available, affords)
    amount = BigInt(promptCost!) + affords * BigInt(completionRate!)
    limit = String(affords)
    if (!take(amount)) return refused(available, affords)
  }
  if (BigInt(redis.get(held) ?? '0') === 0n) listAccount(redis, held)
  redis.add(held, amount)
  redis.hash(holds).set(id!, `${amount}:${limit}:${key}:${draws}`)
  redis.sortedSet(expiry).set(id!, redis.nowMs + Number(lifetime))
  for (const calls of [openOfKey, openOfAccount]) calls.set(id!, redis.nowMs + Number(lifetime))
  for (const counts of [ofKey, ofAccount]) countCall(counts, tokens)
  tokensLeft -= tokens
  let enqueued = 0
  if (job !== '' && String(amount) === amountText && limit === limitText) {
    const [token, lockMs] = [args[28]!, Number(args[29])]
    enqueued = redis.enqueueCall(id!, JSON.parse(job), token === '' ? null : { token, lockMs })
    if (enqueued > 0) redis.strings.set(mark, String(enqueued))
  }
  return answer('ok', String(amount), limit, openOfAccount.size, enqueued)
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

/** The allowances that a hold was taken from; see holds.lua. */
const allowancesOf = (prefix: string, key: string, draws: string): string[] =>
  draws
    .split(',')
    .filter((draw) => draw !== '')
    .map((draw) => {
      const [holder, period] = draw.includes('@') ? draw.split('@') : [null, draw]
      if (holder === null) return `${prefix}key:${key}:left:${period}`
      return holder === '' ? `${prefix}left:${period}` : `${prefix}member:${holder}:left:${period}`
    })

const changeLoaded = (redis: ModelRedis, allowances: readonly string[], by: bigint): void => {
  for (const left of allowances) if (redis.get(left) !== null) redis.add(left, by)
}

/** `list_account` of src/billing/holds/holds.lua */
function listAccount(redis: ModelRedis, held: string): void {
  const [tag, account] = held.split(':acct_') as Names<2>
  redis.set(`${tag}:accounts`).add(`acct_${account.replace(/:held$/, '')}`)
}

/** src/billing/holds/apply.lua */
const apply: Script = (redis, keys, args) => {
  const [avail, held, holds, expiry, ver, loading, accountOpen] = keys as Names<7>
  const [prefix, balance, version, epoch, ...settled] = args as [string, string, string, string, ...string[]]
  const load = epoch === '*' || (epoch !== '' && redis.get(loading) === epoch)
  const released: bigint[] = []
  for (let index = 0; index < settled.length; index += 2) {
    const id = settled[index]!
    const hold = redis.hash(holds).get(id)
    if (hold === undefined) continue
    const [amount, , key, draws] = hold.split(':')
    redis.add(held, -BigInt(amount!))
    changeLoaded(redis, allowancesOf(prefix, key!, draws!), BigInt(amount!) - BigInt(settled[index + 1]!))
    redis.hash(holds).delete(id)
    redis.sortedSet(expiry).delete(id)
    redis.sortedSet(`${prefix}key:${key}:open`).delete(id)
    redis.sortedSet(accountOpen).delete(id)
    released.push(BigInt(amount!))
  }
  const known = BigInt(redis.get(ver) ?? '-1')
  const newer = BigInt(version) > known
  const loaded = redis.get(avail) !== null
  if (load && loaded) return [redis.get(avail), redis.get(held) ?? '0']
  if (newer || load) listAccount(redis, held)
  if (newer) redis.strings.set(ver, version)
  if ((loaded && newer) || (!loaded && load && BigInt(version) >= known)) {
    redis.strings.set(avail, balance)
    redis.add(avail, -BigInt(redis.get(held) ?? '0'))
  } else if (loaded) {
    for (const amount of released) redis.add(avail, amount)
  }
  return [redis.get(avail), redis.get(held) ?? '0']
}

/** src/billing/holds/restore-hold.lua */
const restoreHold: Script = (redis, keys, args) => {
  const [avail, held, holds, expiry, open, accountOpen] = keys as Names<6>
  const [id, amount, limit, key, draws, deadline, isOpen, prefix] = args as Names<8>
  if (redis.hash(holds).has(id)) return 0
  if (BigInt(redis.get(held) ?? '0') === 0n) listAccount(redis, held)
  redis.hash(holds).set(id, `${amount}:${limit}:${key}:${draws}`)
  redis.add(held, BigInt(amount))
  redis.sortedSet(expiry).set(id, Number(deadline))
  if (isOpen === '1')
    for (const calls of [open, accountOpen]) redis.sortedSet(calls).set(id, Number(deadline))
  if (redis.get(avail) !== null) redis.add(avail, -BigInt(amount))
  for (const left of allowancesOf(prefix, key, draws)) redis.strings.delete(left)
  return 1
}

/** `end_calls` of src/billing/holds/holds.lua */
export const endInGate: Script = (redis, [avail, held, holds, open, accountOpen], [prefix, id, charge]) => {
  for (const calls of [open, accountOpen]) redis.sortedSet(calls!).delete(id!)
  const hold = redis.hash(holds!).get(id!)
  if (hold === undefined) return 0
  const [amount, ...rest] = hold.split(':')
  const [, key, draws] = rest
  const freed = BigInt(amount!) - BigInt(charge!)
  if (freed <= 0n) return 0
  redis.hash(holds!).set(id!, [charge, ...rest].join(':'))
  redis.add(held!, -freed)
  if (redis.get(avail!) !== null) redis.add(avail!, freed)
  changeLoaded(redis, allowancesOf(prefix!, key!, draws!), freed)
  return 1
}

/** src/billing/holds/allowance.lua */
const allowance: Script = (redis, keys, args) => {
  const [left, holds] = keys as Names<2>
  const [mode, prefix, draw, budget, spent, , ...listed] = args as Names<6>
  const known = redis.get(left)
  if (mode === 'load' && known !== null) return ['known', known, null]
  const charges = new Map<string, string>()
  for (let index = 0; index < listed.length; index += 2) charges.set(listed[index]!, listed[index + 1]!)
  const open = redis.hash(holds)
  for (const [id, charge] of charges) if (charge === '' && !open.has(id)) return ['again']
  const scopeOf = (one: string) => (one.startsWith('@') ? 'account' : one.includes('@') ? 'member' : 'key')

  let sum = BigInt(budget) - BigInt(spent)
  const adopted = new Map<string, string>()
  for (const [id, hold] of open) {
    const [amount, limit, key, draws] = hold.split(':') as Names<4>
    const isDrawn = allowancesOf(prefix, key, draws).includes(left)
    if (isDrawn && !charges.has(id)) return ['again']
    if (!charges.has(id)) continue
    sum += BigInt(charges.get(id) || '0') - BigInt(amount)
    const others = draws.split(',').filter((one) => one !== '' && scopeOf(one) !== scopeOf(draw))
    if (!isDrawn) adopted.set(id, [amount, limit, key, [...others, draw].join(',')].join(':'))
  }
  if (mode === 'check') return ['known', known, String(sum)]
  for (const [id, hold] of adopted) open.set(id, hold)
  redis.strings.set(left, String(sum))
  return ['known', String(sum), null]
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
  listAccount(redis, held!)
  redis.strings.set(held!, '0')
  for (const hold of redis.hash(holds!).values()) redis.add(held!, BigInt(hold.split(':')[0]!))
  redis.strings.set(avail!, balance!)
  redis.add(avail!, -BigInt(redis.get(held!)!))
  redis.strings.set(ver!, version!)
  return 1
}

/** src/billing/holds/unlist.lua */
const unlist: Script = (redis, [, held, holds, ver, listed], [accountId, version]) => {
  const isIdle = redis.hash(holds!).size === 0 && BigInt(redis.get(held!) ?? '0') === 0n
  if (!isIdle || (redis.get(ver!) ?? '') !== version) return 0
  return redis.set(listed!).delete(accountId!) ? 1 : 0
}

/** The script of src/platform/redis/redis-epoch.ts. */
const epoch: Script = (redis, [key], [newId]) => {
  const shards = /\.\d+$/.exec(newId!)?.[0] ?? ''
  if (redis.get(key!) === null) redis.strings.set(key!, `${redis.newEpoch()}${shards}:${redis.nowMs}`)
  const [id, since] = redis.get(key!)!.split(':')
  return [id, Math.max(0, redis.nowMs - Number(since))]
}

/** The gateway's scripts by the names they are defined under. */
export const SCRIPTS: Record<string, Script> = {
  syAdmit: admit,
  syApply: apply,
  syRestoreHold: restoreHold,
  syEndCall: endInGate,
  syAllowance: allowance,
  syInspect: inspect,
  syRebuild: rebuild,
  syUnlist: unlist,
  syEpoch: epoch,
}
