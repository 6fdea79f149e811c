import { fileURLToPath } from 'node:url'
import { SeededRandom } from '../simulation/seeded-random.ts'

/**
 * Counts the messages that carry frames from workers to API instances, for several ways to put frames into messages: a
 * deterministic simulation of the senders and of one Redis server, for fleets that no machine here can run. To print the
 * table: `node test/bench/frame-messages.ts`.
 */

export interface Fleet {
  apis: number
  workers: number
  callsPerSecond: number
  callSeconds: number
  tokensPerSecond: number
}

/**
 * When a worker sends what waits for one API instance. `turn`: with its turn of the event loop. `window`: after some
 * milliseconds; a call's first frame at once. `one-in-flight`: as `turn`, unless Redis has not answered the last message. `paced`: the
 * same, and not before a multiple of the time that Redis took to answer, since the last message; a call's first frame at once. `shared`:
 * as `window`, on channels that several instances read. `direct`: as `turn`, over a connection between the two.
 */
type Way =
  | { kind: 'turn' | 'one-in-flight' | 'direct' }
  | { kind: 'paced'; factor: number; maxMs: number }
  | { kind: 'window'; ms: number }
  | { kind: 'shared'; ms: number; instances: number }

interface Counts {
  /** Per second of the fleet. */
  publishes: number
  deliveries: number
  /** Bytes a second into Redis. */
  bytes: number
  /** Part of one Redis thread; above 1 the queue before it grows without an end. */
  redis: number
  /** Time from a token to its message's arrival, ms. */
  delayMs: { p50: number; p99: number; firstP50: number }
}

/** A `setImmediate` later, with a provider's chunk or two read meanwhile. */
const TURN_MS = 1
/** Of a Redis 7 on this project's machine, whose clients send one message a write: 6 to 7.5 µs with one subscriber. */
const PUBLISH_MS = 0.0055
const DELIVERY_MS = 0.001
const KILOBYTE_MS = 0.0003
const NETWORK_MS = 0.2
const MESSAGE_BYTES = 120
const FRAME_BYTES = 95
const WARM_UP_MS = 500
const MEASURED_MS = 1_000

/** What waits at one worker for one channel. */
interface Sender {
  frames: Array<{ atMs: number; isFirst: boolean }>
  /** A flush is due; otherwise the next frame decides. */
  isDue: boolean
  inFlightUntilMs: number
  sentAtMs: number
}

type Event = { atMs: number } & ({ kind: 'token'; call: number } | { kind: 'flush'; sender: Sender })

export function countMessages(fleet: Fleet, way: Way, seed = 1): Counts {
  const random = new SeededRandom(seed)
  const calls = Math.round(fleet.callsPerSecond * fleet.callSeconds)
  const intervalMs = 1_000 / fleet.tokensPerSecond
  const tokensOfCall = fleet.callSeconds * fleet.tokensPerSecond
  const channels = way.kind === 'shared' ? Math.ceil(fleet.apis / way.instances) : fleet.apis
  const readers = way.kind === 'shared' ? way.instances : 1
  const senders = new Map<number, Sender>()
  const events = new Heap()
  const tokens = Array.from({ length: calls }, () => random.whole(0, tokensOfCall - 1))
  const newSender = () => {
    const key = random.whole(0, fleet.workers - 1) * channels + random.whole(0, channels - 1)
    const sender = senders.get(key) ?? { frames: [], isDue: false, inFlightUntilMs: 0, sentAtMs: -1_000 }
    senders.set(key, sender)
    return sender
  }
  const senderOf = tokens.map(newSender)
  for (let call = 0; call < calls; call++)
    events.push({ atMs: random.unit() * intervalMs, kind: 'token', call })

  let [publishes, bytes, redisMs, redisFreeAtMs] = [0, 0, 0, 0]
  const delays: number[] = []
  const firstDelays: number[] = []
  const flushAt = (sender: Sender, atMs: number, isUrgent = false) => {
    if (sender.isDue && !isUrgent) return
    sender.isDue = true
    events.push({ atMs, kind: 'flush', sender })
  }
  const isMeasured = (atMs: number) => atMs >= WARM_UP_MS

  const send = (sender: Sender, nowMs: number) => {
    const length = MESSAGE_BYTES + sender.frames.length * FRAME_BYTES
    let arrivesAtMs = nowMs + NETWORK_MS
    if (way.kind !== 'direct') {
      const serviceMs = PUBLISH_MS + readers * (DELIVERY_MS + (length / 1_024) * KILOBYTE_MS)
      redisFreeAtMs = Math.max(redisFreeAtMs, nowMs + NETWORK_MS / 2) + serviceMs
      arrivesAtMs = redisFreeAtMs + NETWORK_MS / 2
      sender.inFlightUntilMs = arrivesAtMs
      sender.sentAtMs = nowMs
      if (isMeasured(nowMs)) redisMs += serviceMs
    }
    if (isMeasured(nowMs)) {
      publishes += 1
      bytes += length
      for (const { atMs, isFirst } of sender.frames) {
        delays.push(arrivesAtMs - atMs)
        if (isFirst) firstDelays.push(arrivesAtMs - atMs)
      }
    }
    sender.frames = []
  }

  const token = (call: number, nowMs: number) => {
    tokens[call]! += 1
    const isFirst = tokens[call] === tokensOfCall
    // The next call has another worker and API instance.
    if (isFirst) {
      tokens[call] = 0
      senderOf[call] = newSender()
    }
    const sender = senderOf[call]!
    sender.frames.push({ atMs: nowMs, isFirst })
    if (way.kind === 'paced') {
      const { sentAtMs, inFlightUntilMs } = sender
      const gapMs = Math.min(way.factor * (inFlightUntilMs - sentAtMs), way.maxMs)
      const dueAtMs = isFirst
        ? nowMs
        : Math.min(Math.max(sentAtMs + gapMs, inFlightUntilMs), sentAtMs + way.maxMs)
      flushAt(sender, Math.max(nowMs + TURN_MS, dueAtMs), isFirst)
      events.push({ atMs: nowMs + intervalMs * (0.5 + random.unit()), kind: 'token', call })
      return
    }
    const waits = way.kind === 'window' || way.kind === 'shared'
    if (way.kind === 'one-in-flight') flushAt(sender, Math.max(nowMs + TURN_MS, sender.inFlightUntilMs))
    else flushAt(sender, nowMs + (waits && !isFirst ? way.ms : TURN_MS), waits && isFirst)
    events.push({ atMs: nowMs + intervalMs * (0.5 + random.unit()), kind: 'token', call })
  }

  for (let event = events.pop(); event.atMs < WARM_UP_MS + MEASURED_MS; event = events.pop()) {
    if (event.kind === 'token') token(event.call, event.atMs)
    else {
      event.sender.isDue = false
      if (event.sender.frames.length > 0) send(event.sender, event.atMs)
    }
  }
  const perSecond = 1_000 / MEASURED_MS
  const overRedis = way.kind === 'direct' ? 0 : publishes * perSecond
  return {
    publishes: overRedis,
    deliveries: overRedis * readers,
    bytes: way.kind === 'direct' ? 0 : bytes * perSecond,
    redis: redisMs / MEASURED_MS,
    delayMs: {
      p50: percentile(delays, 0.5),
      p99: percentile(delays, 0.99),
      firstP50: percentile(firstDelays, 0.5),
    },
  }
}

const percentile = (values: number[], part: number): number =>
  values.sort((one, other) => one - other)[Math.floor(values.length * part)] ?? 0

/** Events by time. */
class Heap {
  private readonly events: Event[] = []

  push(event: Event): void {
    const { events } = this
    let at = events.length
    events.push(event)
    for (let parent = (at - 1) >> 1; at > 0 && events[parent]!.atMs > event.atMs; parent = (at - 1) >> 1) {
      events[at] = events[parent]!
      at = parent
    }
    events[at] = event
  }

  pop(): Event {
    const { events } = this
    const first = events[0]!
    const last = events.pop()!
    if (events.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= events.length) break
      if (child + 1 < events.length && events[child + 1]!.atMs < events[child]!.atMs) child += 1
      if (events[child]!.atMs >= last.atMs) break
      events[at] = events[child]!
      at = child
    }
    events[at] = last
    return first
  }
}

const FLEETS: Fleet[] = [
  { apis: 2, workers: 4, callsPerSecond: 100, callSeconds: 10, tokensPerSecond: 30 },
  { apis: 20, workers: 40, callsPerSecond: 1_000, callSeconds: 10, tokensPerSecond: 30 },
  { apis: 100, workers: 1_000, callsPerSecond: 1_000, callSeconds: 10, tokensPerSecond: 30 },
  // What each of four shards has of it.
  { apis: 100, workers: 1_000, callsPerSecond: 250, callSeconds: 10, tokensPerSecond: 30 },
]
const WAYS: Way[] = [
  { kind: 'turn' },
  { kind: 'one-in-flight' },
  { kind: 'paced', factor: 4, maxMs: 100 },
  { kind: 'paced', factor: 8, maxMs: 100 },
  { kind: 'paced', factor: 16, maxMs: 100 },
  { kind: 'window', ms: 20 },
  { kind: 'window', ms: 100 },
  { kind: 'shared', ms: 20, instances: 10 },
  { kind: 'direct' },
]

function printTable(): void {
  for (const fleet of FLEETS) {
    process.stdout.write(`\n${JSON.stringify(fleet)}\n`)
    for (const way of WAYS) {
      const { publishes, deliveries, bytes, redis, delayMs } = countMessages(fleet, way)
      const { kind, ...settings } = way
      const cells = [
        `${kind} ${Object.values(settings).join(' ')}`.padEnd(18),
        `${Math.round(publishes)} publishes/s`,
        `${Math.round(deliveries)} deliveries/s`,
        `${(bytes / 1e6).toFixed(1)} MB/s`,
        `${redis.toFixed(2)} Redis threads`,
        `delay ${delayMs.p50.toFixed(1)} ms, p99 ${delayMs.p99.toFixed(1)}, of first frames ${delayMs.firstP50.toFixed(1)}`,
      ]
      process.stdout.write(`${cells.join('  ')}\n`)
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printTable()
