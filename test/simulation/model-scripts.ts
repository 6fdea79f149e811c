import type { ModelRedis } from './model-redis.ts'

type Script = (redis: ModelRedis, keys: string[], args: string[]) => unknown

/** So many strings. */
type Names<Count extends number, So extends string[] = []> = So['length'] extends Count
  ? So
  : Names<Count, [...So, string]>

const WINDOW_MS = 60_000

/** The record of an account, and the prefix of its other keys. */
const readRecord = (redis: ModelRedis, key: string) => ({
  record: redis.hash(key),
  prefix: key.replace(/ver$/, ''),
  get: (field: string): string | null => redis.hash(key).get(field) ?? null,
  add: (field: string, by: bigint) => {
    const sum = BigInt(redis.hash(key).get(field) ?? '0') + by
    redis.hash(key).set(field, String(sum))
  },
})

/** Its holds, see holds.lua. */
export function holdsOf(record: ReadonlyMap<string, string>) {
  return [...record].flatMap(([id, text]) => {
    const parts = text.split(':')
    if (parts.length !== 6) return []
    const [amount, limit, key, draws, deadline, bytes] = parts as Names<6>
    return { id, amount: BigInt(amount), limit, key, draws, deadline, isOpen: bytes !== '' }
  })
}
type Hold = ReturnType<typeof holdsOf>[number]

const holdOf = (record: ReadonlyMap<string, string>, id: string): Hold | undefined =>
  holdsOf(record).find((hold) => hold.id === id)

const writeHold = (record: Map<string, string>, { id, amount, limit, key, draws, deadline, isOpen }: Hold) =>
  record.set(id, [amount, limit, key, draws, deadline, isOpen ? '0' : ''].join(':'))

/** src/billing/holds/admit.lua */
const admit: Script = (redis, keys, args) => {
  const { record, prefix, get, add } = readRecord(redis, keys[0]!)
  const [id, lifetime, amountText, flexible, promptCost, completionRate, limitText] = args as string[]
  const [maxRequests, maxTokens, tokens, maxOpen] = args.slice(7, 11).map(Number) as [
    number,
    number,
    number,
    number,
  ]
  const [key, draws] = args.slice(11, 13) as [string, string]
  const [accountMaxRequests, accountMaxOpen] = args.slice(13, 15).map(Number) as [number, number]
  const allowances = allowancesOf(prefix, key, draws)
  const mark = `${prefix.replace(/[^:]+:$/, '')}admitted:${id}`
  const openOf = (ofKey: boolean) => {
    const holds = holdsOf(record).filter((hold) => hold.isOpen && (!ofKey || hold.key === key))
    return holds.length
  }

  const ofKey = readWindow(redis, `${prefix}key:${key}:window`, maxRequests)
  const ofAccount = readWindow(redis, `${prefix}window`, accountMaxRequests)
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
  if (job !== '' && marked !== null) return answer('ok', amountText, limitText, openOf(false), Number(marked))
  const previous = holdOf(record, id!)
  if (previous) return answer('ok', String(previous.amount), previous.limit, openOf(false), 0)
  if (args[16] !== '' && redis.nowMs > Number(args[16])) return answer('late')
  if (ofKey.left < 1) return answer('rate', WINDOW_MS, 'key')
  if (ofAccount.left < 1) return answer('rate', WINDOW_MS, 'account')
  if (tokensLeft < tokens) return answer('rate', WINDOW_MS, 'key')
  const hasSlot = (isOfKey: boolean, max: number) => {
    if (openOf(isOfKey) < max) return true
    for (const hold of holdsOf(record))
      if (hold.isOpen && Number(hold.deadline) <= redis.nowMs) writeHold(record, { ...hold, isOpen: false })
    return openOf(isOfKey) < max
  }
  if (!hasSlot(true, maxOpen)) return answer('concurrency', 1000, 'key')
  if (!hasSlot(false, accountMaxOpen)) return answer('concurrency', 1000, 'account')
  if (get('avail') === null) return answer('load-balance')
  const missing = allowances.flatMap((left, index) => (redis.get(left) === null ? index + 1 : []))
  if (missing.length > 0) return answer('load-allowance', ...missing)

  const left = () => [get('avail'), ...allowances.map((bound) => redis.get(bound))].map((one) => BigInt(one!))
  /** What was short: the balance, or the budget that has least left. */
  let short: [outcome: string, budget?: number] | null = null
  const take = (sum: bigint): boolean => {
    const [balance, ...rests] = left().map((amount) => amount - sum)
    const least = rests.reduce((one, other) => (other < one ? other : one), 0n)
    const budget = least < 0n ? rests.indexOf(least) + 1 : undefined
    short = balance! < 0n ? ['balance'] : budget === undefined ? null : ['allowance', budget]
    if (short !== null) return false
    for (const bound of allowances) redis.add(bound, -sum)
    add('avail', -sum)
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
  listAccount(redis, keys[0]!)
  add('held', amount)
  const deadline = String(redis.nowMs + Number(lifetime))
  writeHold(record, { id: id!, amount, limit, key, draws, deadline, isOpen: true })
  for (const counts of [ofKey, ofAccount]) countCall(counts, tokens)
  tokensLeft -= tokens
  let enqueued = 0
  if (job !== '' && String(amount) === amountText && limit === limitText) {
    const [token, lockMs] = [args[27]!, Number(args[28])]
    enqueued = redis.enqueueCall(id!, JSON.parse(job), token === '' ? null : { token, lockMs })
    if (enqueued > 0) redis.strings.set(mark, String(enqueued))
  }
  return answer('ok', String(amount), limit, openOf(false), enqueued)
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
      if (holder === '') return `${prefix}left:${period}`
      return `${prefix}${holder.includes('.') ? 'group' : 'member'}:${holder}:left:${period}`
    })

const changeLoaded = (redis: ModelRedis, allowances: readonly string[], by: bigint): void => {
  for (const left of allowances) if (redis.get(left) !== null) redis.add(left, by)
}

/** `list_account` of src/billing/holds/holds.lua */
function listAccount(redis: ModelRedis, record: string): void {
  const [, tag, account] = /^(.*:)([^:]+):ver$/.exec(record)!
  redis.set(`${tag}accounts`).add(account!)
}

/** src/billing/holds/apply.lua */
const apply: Script = (redis, [key], args) => {
  const { record, prefix, get, add } = readRecord(redis, key!)
  const [balance, version, epoch, ...settled] = args as [string, string, string, ...string[]]
  const load = epoch === '*' || (epoch !== '' && redis.get(`${prefix}loading`) === epoch)
  const released: bigint[] = []
  for (let index = 0; index < settled.length; index += 2) {
    const hold = holdOf(record, settled[index]!)
    if (!hold) continue
    add('held', -hold.amount)
    const freed = hold.amount - BigInt(settled[index + 1]!)
    changeLoaded(redis, allowancesOf(prefix, hold.key, hold.draws), freed)
    record.delete(hold.id)
    released.push(hold.amount)
  }
  const known = BigInt(get('ver') ?? '-1')
  const newer = BigInt(version) > known
  const loaded = get('avail') !== null
  if (load && loaded) return [get('avail'), get('held') ?? '0']
  if (newer || load) listAccount(redis, key!)
  if (newer) record.set('ver', version)
  if ((loaded && newer) || (!loaded && load && BigInt(version) >= known)) {
    record.set('avail', String(BigInt(balance) - BigInt(get('held') ?? '0')))
  } else if (loaded) {
    for (const amount of released) add('avail', amount)
  }
  return [get('avail'), get('held') ?? '0']
}

/** src/billing/holds/restore-hold.lua */
const restoreHold: Script = (redis, [ofAccount], args) => {
  const { record, prefix, get, add } = readRecord(redis, ofAccount!)
  const [id, amount, limit, key, draws, deadline, isOpen] = args as Names<7>
  if (holdOf(record, id)) return 0
  listAccount(redis, ofAccount!)
  writeHold(record, { id, amount: BigInt(amount), limit, key, draws, deadline, isOpen: isOpen === '1' })
  add('held', BigInt(amount))
  if (get('avail') !== null) add('avail', -BigInt(amount))
  for (const left of allowancesOf(prefix, key, draws)) redis.strings.delete(left)
  return 1
}

/** `end_call` of src/billing/holds/holds.lua */
export const endInGate: Script = (redis, [ofAccount], [id, charge]) => {
  const { record, prefix, get, add } = readRecord(redis, ofAccount!)
  const hold = holdOf(record, id!)
  if (hold === undefined) return 0
  const freed = hold.amount - BigInt(charge!)
  writeHold(record, { ...hold, amount: freed > 0n ? BigInt(charge!) : hold.amount, isOpen: false })
  if (freed <= 0n) return 0
  add('held', -freed)
  if (get('avail') !== null) add('avail', freed)
  changeLoaded(redis, allowancesOf(prefix, hold.key, hold.draws), freed)
  return 1
}

/** src/billing/holds/allowance.lua */
const allowance: Script = (redis, keys, args) => {
  const [left, ofAccount] = keys as Names<2>
  const { record, prefix } = readRecord(redis, ofAccount)
  const [mode, draw, budget, spent, , ...listed] = args as Names<5>
  const known = redis.get(left)
  if (mode === 'load' && known !== null) return ['known', known, null]
  const charges = new Map<string, string>()
  for (let index = 0; index < listed.length; index += 2) charges.set(listed[index]!, listed[index + 1]!)
  const open = holdsOf(record)
  for (const [id, charge] of charges) if (charge === '' && !holdOf(record, id)) return ['again']
  const scopeOf = (one: string) => {
    const [holder = ''] = one.split('@')
    if (holder === one) return 'key'
    return holder === '' ? 'account' : holder.includes('.') ? holder[0] : 'member'
  }

  let sum = BigInt(budget) - BigInt(spent)
  const adopted: Hold[] = []
  for (const hold of open) {
    const { id, amount, key, draws } = hold
    const isDrawn = allowancesOf(prefix, key, draws).includes(left)
    if (isDrawn && !charges.has(id)) return ['again']
    if (!charges.has(id)) continue
    sum += BigInt(charges.get(id) || '0') - amount
    const others = draws.split(',').filter((one) => one !== '' && scopeOf(one) !== scopeOf(draw))
    if (!isDrawn) adopted.push({ ...hold, draws: [...others, draw].join(',') })
  }
  if (mode === 'check') return ['known', known, String(sum)]
  for (const hold of adopted) writeHold(record, hold)
  redis.strings.set(left, String(sum))
  return ['known', String(sum), null]
}

/** src/billing/holds/inspect.lua */
const inspect: Script = (redis, [ofAccount]) => {
  const { record, get } = readRecord(redis, ofAccount!)
  const amounts = holdsOf(record).map(({ amount }) => amount)
  const sum = amounts.reduce((one, other) => one + other, 0n)
  return [get('avail'), get('held') ?? '0', get('ver'), amounts.length, String(sum)]
}

/** src/billing/holds/rebuild.lua */
const rebuild: Script = (redis, [ofAccount], [balance, version, force]) => {
  const { record, get } = readRecord(redis, ofAccount!)
  const known = get('ver')
  if (force !== '1' && known !== null && BigInt(known) > BigInt(version!)) return 0
  listAccount(redis, ofAccount!)
  const held = holdsOf(record).reduce((sum, { amount }) => sum + amount, 0n)
  record.set('held', String(held))
  record.set('avail', String(BigInt(balance!) - held))
  record.set('ver', version!)
  return 1
}

/** src/billing/holds/unlist.lua */
const unlist: Script = (redis, [ofAccount, listed], [accountId, version]) => {
  const { record, get } = readRecord(redis, ofAccount!)
  const isIdle = holdsOf(record).length === 0 && BigInt(get('held') ?? '0') === 0n
  if (!isIdle || (get('ver') ?? '') !== version) return 0
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
