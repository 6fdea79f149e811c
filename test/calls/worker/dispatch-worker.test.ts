import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createSlotPool, type SlotPool, WorkerSlots } from '../../../src/calls/worker/worker-slots.ts'
import type { ClaimKind } from '../../../src/platform/queues/claimed-jobs.ts'
import { eventually } from '../../helpers/eventually.ts'

type Account = 'flood' | 'quiet' | 'flex'

/** A queue that serves quiet calls first, and a worker of 20 slots over it, which it may share. */
function startWorker(pool: SlotPool = createSlotPool(20)) {
  const waiting = { quiet: 0, flood: 0, flex: 0 }
  const running: Array<{ account: Account; end: () => void }> = []
  const claims: ClaimKind[] = []
  const take = (account: Account, most: number): Account[] => {
    const taken = Math.min(waiting[account], most)
    waiting[account] -= taken
    return Array.from({ length: taken }, () => account)
  }
  const claim = (most: number, kind: ClaimKind) => {
    claims.push(kind)
    const taken = take('quiet', most)
    if (kind !== 'within-share') taken.push(...take('flood', most - taken.length))
    if (kind === 'any') taken.push(...take('flex', most - taken.length))
    return taken
  }
  const slots = new WorkerSlots<Account>({
    concurrency: 20,
    pool,
    claim: async (most, kind) => claim(most, kind),
    async waitAndClaim() {
      await new Promise((resolve) => setImmediate(resolve))
      const [job = null] = claim(1, 'any')
      return { job, isMore: waiting.quiet + waiting.flood + waiting.flex > 0 }
    },
    isFlex: (account) => account === 'flex',
    async run(account) {
      const call = { account, end: () => undefined as unknown }
      running.push(call as (typeof running)[number])
      await new Promise<void>((resolve) => {
        call.end = () => resolve()
      })
      running.splice(running.indexOf(call as (typeof running)[number]), 1)
    },
    logger: pino({ level: 'silent' }),
  })
  slots.start()
  return {
    claims,
    count: (account: Account) => running.filter((call) => call.account === account).length,
    enqueue: (account: Account, calls: number) => {
      waiting[account] += calls
    },
    end: (account: Account, calls: number) => {
      for (const call of running.filter((one) => one.account === account).slice(0, calls)) call.end()
    },
    async stop() {
      waiting.quiet = waiting.flood = waiting.flex = 0
      const drained = slots.drain()
      await eventually(() => {
        for (const call of running) call.end()
        expect(running).toEqual([])
      })
      await drained
      await slots.ended()
    },
  }
}

test('a tenth of the slots is for calls within a share, however many others wait', async () => {
  const worker = startWorker()
  worker.enqueue('flood', 100)
  await eventually(() => expect(worker.count('flood')).toBe(18))
  // It has looked for calls within a share since, and left the flood's where they are.
  await eventually(() => expect(worker.claims.at(-1)).toBe('within-share'))
  worker.enqueue('quiet', 1)
  await eventually(() => expect(worker.count('quiet')).toBe(1))
  expect(worker.count('flood')).toBe(18)
  await worker.stop()
})

test('calls of the lane flex fill half of the slots, and those of other shards find the rest by turns', async () => {
  const pool = createSlotPool(20)
  const [busy, other] = [startWorker(pool), startWorker(pool)]
  busy.enqueue('flex', 100)
  await eventually(() => expect(busy.count('flex')).toBe(10))
  await eventually(() => expect(busy.claims.at(-1)).toBe('default'))
  busy.enqueue('flood', 1_000)
  await eventually(() => expect(busy.count('flood')).toBe(8))
  other.enqueue('flood', 5)
  let ended = 0
  for (; other.count('flood') < 5; ended++) {
    busy.end('flood', 1)
    await eventually(() => expect(busy.count('flood') + other.count('flood')).toBe(8))
  }
  expect(ended).toBeLessThanOrEqual(2 * 5 + 2)
  expect(busy.count('flex')).toBe(10)
  // Those that end leave their slots to whoever comes first.
  busy.end('flex', 2)
  await eventually(() => expect(busy.count('flood') + other.count('flood')).toBe(10))
  await Promise.all([busy.stop(), other.stop()])
})

test('workers of several shards share slots by turns: a busy shard leaves the others every other one', async () => {
  const pool = createSlotPool(20)
  const [busy, other] = [startWorker(pool), startWorker(pool)]
  busy.enqueue('flood', 1_000)
  await eventually(() => expect(busy.count('flood')).toBe(18))
  other.enqueue('flood', 5)
  let ended = 0
  for (; other.count('flood') < 5; ended++) {
    busy.end('flood', 1)
    await new Promise((resolve) => setImmediate(resolve))
    // The call that the other shard waited for may be one more.
    await eventually(() => expect([18, 19]).toContain(busy.count('flood') + other.count('flood')))
  }
  // Its first turn may come before it knows of its calls.
  expect(ended).toBeLessThanOrEqual(2 * 5 + 2)
  // Calls within their share have the reserve, whichever shard they are of.
  other.enqueue('quiet', 1)
  await eventually(() => expect(other.count('quiet')).toBe(1))
  await Promise.all([busy.stop(), other.stop()])
})

test('a slot that a flood leaves goes back to it only while the reserve is whole', async () => {
  const worker = startWorker()
  worker.enqueue('flood', 100)
  await eventually(() => expect(worker.count('flood')).toBe(18))
  worker.enqueue('quiet', 2)
  await eventually(() => expect(worker.count('quiet')).toBe(2))
  worker.end('flood', 1)
  worker.enqueue('quiet', 1)
  await eventually(() => expect(worker.count('quiet')).toBe(3))
  expect(worker.count('flood')).toBe(17)
  worker.end('quiet', 3)
  await eventually(() => expect(worker.count('flood')).toBe(18))
  await worker.stop()
})

test('a slot is taken for a call of the same process only beside the reserve, and never while the worker stops', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const slots = new WorkerSlots<string>({
    concurrency: 20,
    pool: createSlotPool(20),
    claim: async () => [],
    waitAndClaim: () => new Promise(() => undefined),
    isFlex: () => false,
    run: () => ended,
    logger: pino({ level: 'silent' }),
  })
  slots.start()
  await new Promise((resolve) => setImmediate(resolve))
  const taken = Array.from({ length: 20 }, () => slots.take())
  // Two are reserved, and one is left to the wait for a call.
  expect(taken.filter(Boolean)).toHaveLength(17)
  slots.run('call')
  for (let others = 16; others > 0; others--) slots.giveBack()
  expect(slots.take()).toBe(true)
  const drained = slots.drain()
  expect(slots.take()).toBe(false)
  let isDrained = false
  void drained.then(() => {
    isDrained = true
  })
  end()
  await new Promise((resolve) => setImmediate(resolve))
  // One that was taken may still be used.
  expect(isDrained).toBe(false)
  slots.giveBack()
  await drained
})

test('calls of the same process take no slot that a wait under way fills: the reserve stays whole', async () => {
  const wait = Promise.withResolvers<{ job: string | null; isMore: boolean }>()
  const claims: Array<[kind: string, most: number]> = []
  const slots = new WorkerSlots<string>({
    concurrency: 20,
    pool: createSlotPool(20),
    claim: async (most, kind) => {
      claims.push([kind, most])
      return []
    },
    waitAndClaim: () => wait.promise,
    isFlex: () => false,
    run: () => new Promise(() => undefined),
    logger: pino({ level: 'silent' }),
  })
  slots.start()
  await new Promise((resolve) => setImmediate(resolve))
  while (slots.take()) slots.run('admitted here')
  wait.resolve({ job: 'waited for', isMore: false })
  await eventually(() => expect(claims.at(-1)).toEqual(['within-share', 2]))
})

test('the only slot of a worker is left to the wait for a call, which may fill it', () => {
  const slots = new WorkerSlots<string>({
    concurrency: 1,
    pool: createSlotPool(1),
    claim: async () => [],
    waitAndClaim: () => new Promise(() => undefined),
    isFlex: () => false,
    run: async () => undefined,
    logger: pino({ level: 'silent' }),
  })
  slots.start()
  expect(slots.take()).toBe(false)
})

test('what comes with a wait that fails is claimed by the next look, not after another wait', async () => {
  const waiting = ['call']
  const ran: string[] = []
  let isFirstWait = true
  const slots = new WorkerSlots<string>({
    concurrency: 4,
    pool: createSlotPool(4),
    claim: async () => (isFirstWait ? [] : waiting.splice(0)),
    waitAndClaim() {
      if (!isFirstWait) return new Promise(() => undefined)
      isFirstWait = false
      return Promise.reject(new Error('the marker is taken, and the claim failed'))
    },
    isFlex: () => false,
    run: async (call) => void ran.push(call),
    logger: pino({ level: 'silent' }),
  })
  slots.start()
  await eventually(() => expect(ran).toEqual(['call']))
  await slots.drain()
})
