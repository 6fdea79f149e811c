import type { CallJob } from '../../src/core/calls/call-job.ts'
import type { CallJobs } from '../../src/platform/queues/call-jobs.ts'
import type { ClaimedJobs } from '../../src/platform/queues/claimed-jobs.ts'
import type { DispatchQueue, SettlementJob, SettlementQueue } from '../../src/platform/queues/queues.ts'
import type { Redis } from '../../src/platform/redis/redis.ts'
import { admittedKey } from '../../src/platform/redis/redis-keys.ts'
import type { ModelQueue } from './model-queue.ts'
import type { ModelRedis } from './model-redis.ts'
import type { Connection, SimulatedServer } from './simulated-server.ts'
import type { SimulatedProcess } from './simulated-time.ts'

type Listener = (...args: never[]) => void

/** Who has subscribed which channel. */
export class PubSub {
  private readonly server: SimulatedServer
  private readonly subscribers = new Map<
    string,
    Set<{ connection: Connection; hear: (message: string) => void }>
  >()

  constructor(server: SimulatedServer) {
    this.server = server
  }

  subscribe(channel: string, connection: Connection, hear: (message: string) => void): void {
    if (!this.subscribers.has(channel)) this.subscribers.set(channel, new Set())
    this.subscribers.get(channel)!.add({ connection, hear })
  }

  /** How many are connected now. */
  listeners(channel: string): number {
    const isThere = ({ connection }: { connection: Connection }) =>
      connection.process.isAlive && connection.isConnected
    return [...(this.subscribers.get(channel) ?? [])].filter(isThere).length
  }

  /** Sends to whoever is connected now; returns how many. A message may be lost on a connection that is. */
  publish(channel: string, message: string): number {
    const { time, random } = this.server
    let heard = 0
    for (const subscriber of this.subscribers.get(channel) ?? []) {
      const { connection, hear } = subscriber
      if (!connection.process.isAlive || !connection.isConnected) continue
      heard += 1
      if (random.chance(0.01)) continue
      time.after(this.server.latencyMs(), connection.process, () => hear(message))
    }
    return heard
  }
}

export interface RedisServices {
  server: SimulatedServer
  data: ModelRedis
  pubSub: PubSub
}

/** A client of the models of all servers, with a connection to each. */
export function connectRedis(
  servers: readonly RedisServices[],
  connections: readonly Connection[],
  shards: number,
): Redis {
  const clients = servers.map((services, index) => connectServer(services, connections[index]!))
  const shard = (number: number) => clients[number % clients.length]!
  for (const client of clients) Object.assign(client, { shards, shard })
  return clients[0] as unknown as Redis
}

/** A client of one server, with the part of ioredis that the gateway uses of it. */
function connectServer({ data, pubSub }: RedisServices, connection: Connection): Record<string, unknown> {
  const messageListeners: Listener[] = []
  const subscribed = new Set<string>()
  const send = <T>(perform: () => T): Promise<T> => connection.send(perform)
  const hear = (channel: string) => (message: string) => {
    for (const listener of messageListeners) (listener as (...args: string[]) => void)(channel, message)
  }
  const client: Record<string, unknown> = {
    defineCommand(name: string) {
      client[name] = (keyCount: number, ...rest: Array<string | number>) => {
        const texts = rest.map(String)
        return send(() => data.script(name, texts.slice(0, keyCount), texts.slice(keyCount)))
      }
    },
    on(event: string, listener: Listener) {
      if (event === 'ready') connection.onReady(listener as () => void)
      else if (event === 'message') messageListeners.push(listener)
      return client
    },
    off(event: string, listener: Listener) {
      if (event === 'ready') connection.offReady(listener as () => void)
      return client
    },
    subscribe: (...channels: string[]) =>
      send(() => {
        for (const channel of channels) {
          if (!subscribed.has(channel)) pubSub.subscribe(channel, connection, hear(channel))
          subscribed.add(channel)
        }
        return subscribed.size
      }),
    publish: (channel: string, message: string) => send(() => pubSub.publish(channel, message)),
    get: (key: string) => send(() => data.get(key)),
    incr: (key: string) =>
      send(() => {
        const next = Number(data.get(key) ?? 0) + 1
        data.strings.set(key, String(next))
        return next
      }),
    exists: (key: string) => send(() => (data.get(key) === null ? 0 : 1)),
    mget: (...keys: string[]) => send(() => keys.map((key) => data.get(key))),
    set: (key: string, value: string, ...options: unknown[]) =>
      send(() => {
        if (options.includes('NX') && data.get(key) !== null) return null
        data.strings.set(key, value)
        return 'OK'
      }),
    // The one script that is not defined by a name releases a lock.
    eval: (_script: string, _keys: number, key: string, token: string) =>
      send(() => (data.get(key) === token && data.strings.delete(key) ? 1 : 0)),
    del: (...keys: string[]) => send(() => keys.filter((key) => data.strings.delete(key)).length),
    sadd: (key: string, member: string) => send(() => void data.set(key).add(member)),
    sscan: (key: string) => send(() => ['0', [...data.set(key)]]),
    hdel: (key: string, ...fields: string[]) =>
      send(() => fields.filter((field) => data.hash(key).delete(field)).length),
    hget: (key: string, field: string) => send(() => data.hash(key).get(field) ?? null),
    hmget: (key: string, ...fields: string[]) =>
      send(() => fields.map((field) => data.hash(key).get(field) ?? null)),
    hgetall: (key: string) => send(() => Object.fromEntries(data.hash(key))),
  }
  return client
}

/** The part of BullMQ's Queue that the gateway uses. */
export function openQueue(
  model: ModelQueue<CallJob> | ModelQueue<SettlementJob>,
  connection: Connection,
): { dispatch: DispatchQueue; settlement: SettlementQueue } {
  const queue = model as ModelQueue<unknown>
  const send = <T>(perform: () => T): Promise<T> => connection.send(perform)
  const client = {
    add: (name: string, data: unknown, options: { jobId: string; delay?: number }) =>
      send(() => queue.add(options.jobId, data, options.delay, name)),
    getJobState: (id: string) => send(() => queue.state(id)),
    getJob: (id: string) =>
      send(() =>
        queue.jobs.has(id)
          ? {
              data: queue.jobs.get(id)!.data,
              changeDelay: (delayMs: number) => send(() => queue.changeDelay(id, delayMs)),
              promote: () => send(() => queue.promote(id)),
            }
          : undefined,
      ),
    getRanges: () => send(() => [...queue.jobs.keys()]),
  }
  return { dispatch: client as unknown as DispatchQueue, settlement: client as unknown as SettlementQueue }
}

/** src/platform/queues/call-jobs.ts over the model. */
export function openCallJobs(
  queue: ModelQueue<CallJob>,
  data: ModelRedis,
  connection: Connection,
  shard: number,
): CallJobs {
  const send = <T>(perform: () => T): Promise<T> => connection.send(perform)
  return {
    enqueue: (envelope, body) =>
      send(() => queue.add(envelope.id, { envelope, sealedBody: body.toString() }, 0, 'call')),
    withdraw: (callId) => send(() => queue.withdraw(callId, false)),
    dropRequeued: (callId) => send(() => queue.withdraw(callId, true)),
    reclaim: (callId, { token, number, lockMs }) =>
      send(() => {
        const isMarked = data.get(admittedKey(callId, shard)) !== null
        return queue.reclaim(callId, token, number, lockMs, isMarked)
      }),
    noteFailure: (callId, told) => send(() => queue.noteFailure(callId, told)),
    exists: (callId) => send(() => queue.jobs.has(callId)),
    place: (callId) => send(() => queue.place(callId)),
    settledBy: (jobIds) => send(() => jobIds.map(() => null)),
  }
}

const BLOCK_MS = 1_000

/** src/platform/queues/claimed-jobs.ts over the model. */
export function openClaimedJobs<Data>(
  model: ModelQueue<Data>,
  { server }: RedisServices,
  process: SimulatedProcess,
  lockMs: number,
  token: string,
): ClaimedJobs<Data> {
  const connection = server.connect(process, 'wait')
  const send = <T>(perform: () => T): Promise<T> => connection.send(perform)
  let stalledChecks: NodeJS.Timeout | undefined
  const wait = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, BLOCK_MS)
      model.onAdded(() =>
        server.time.after(server.latencyMs(), process, () => {
          clearTimeout(timer)
          resolve()
        }),
      )
    })
  return {
    token,
    async start() {
      stalledChecks = setInterval(() => void send(() => model.checkStalled(lockMs / 2)), lockMs / 2)
    },
    claim: (most) => send(() => model.claimSome(token, lockMs, most)),
    wait,
    async waitAndClaim() {
      await wait()
      const [job = null] = await send(() => model.claimSome(token, lockMs, 1))
      return { job, isMore: job !== null }
    },
    complete: (ids) => send(() => model.completeSome(ids, token)),
    handBack: (id) => send(() => model.handBack(id, token)),
    extendLocks: (ids) =>
      send(() =>
        model.extend(
          ids,
          ids.map(() => token),
          lockMs,
        ),
      ),
    wake: () => undefined,
    stopWaiting: () => undefined,
    close: async () => clearInterval(stalledChecks),
  }
}
