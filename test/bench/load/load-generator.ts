import { setTimeout as delay } from 'node:timers/promises'
import { summarize } from './latency-summary.ts'
import { LoadConnection } from './load-connection.ts'
import type { LoadRequest, LoadResult, Scenario } from './load-scenario.ts'

const PROMPT = 'Why does a queue turn a burst of work into a steady flow? Answer in a few words.'
const CONTENT = Buffer.from('"content":"')
const QUOTE = 0x22
/** What the last event of a stream has, by wire. */
const ENDS = ['[DONE]', '"message_stop"', '"response.completed"', '"response.incomplete"'].map((end) =>
  Buffer.from(end),
)
const KEPT_REASONS = 5
/** A paced load that the other side cannot follow must not open connections without end. */
const MAX_CONNECTIONS = 2_000
/** Calls that are not answered this long after the end of a scenario have failed. */
const LATE_MS = 10_000

/** Puts a load on a target and measures it. */
export async function generateLoad(scenario: Scenario): Promise<LoadResult> {
  const meter = createMeter(scenario)
  const url = new URL(scenario.request.url)
  const request = requestBytes(url, scenario.request)
  const idle: LoadConnection[] = []
  const open: LoadConnection[] = []
  const connection = () => {
    const existing = idle.pop()
    if (existing) return existing
    const created = new LoadConnection(url)
    open.push(created)
    return created
  }
  const call = async () => {
    const used = connection()
    await meter.call(used, request)
    idle.push(used)
  }

  const closeAll = (reason?: Error) => {
    for (const used of open) used.close(reason)
  }
  const late = setTimeout(
    () => closeAll(new Error(`not answered ${LATE_MS / 1000} s after the end`)),
    meter.endsAt + LATE_MS - performance.now(),
  )
  if (scenario.load.kind === 'callers') {
    const { callers, startOverMs = 0, callsEach = Number.POSITIVE_INFINITY } = scenario.load
    const caller = async (index: number) => {
      if (startOverMs > 0) await delay((startOverMs * index) / callers)
      for (let left = callsEach; left > 0 && performance.now() < meter.endsAt; left--) await call()
    }
    await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))
  } else {
    await pace(scenario.load.callsPerSecond, meter.endsAt, () => {
      if (idle.length > 0 || open.length < MAX_CONNECTIONS) return call()
      meter.fail('the target is too slow for this rate')
      return Promise.resolve()
    })
  }
  clearTimeout(late)
  closeAll()
  return meter.result()
}

/** Starts calls at a rate kept against the clock, and waits for the last of them. */
async function pace(callsPerSecond: number, endsAt: number, call: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  const running = new Set<Promise<void>>()
  for (let started = 0; performance.now() < endsAt; ) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * callsPerSecond)
    for (; started < due; started++) {
      const one = call().finally(() => running.delete(one))
      running.add(one)
    }
    const nextAt = startedAt + (1000 * (started + 1)) / callsPerSecond
    await delay(Math.max(1, Math.min(nextAt, endsAt) - performance.now()))
  }
  await Promise.all(running)
}

interface Meter {
  readonly endsAt: number
  /** One call. Failures are counted, never thrown. */
  call(connection: LoadConnection, request: Buffer): Promise<void>
  fail(reason: string, status?: number): void
  result(): LoadResult
}

function createMeter({ request: { stream }, durationMs, warmUpMs }: Scenario): Meter {
  const measuredFrom = performance.now() + warmUpMs
  const endsAt = measuredFrom + durationMs
  const latencies: number[] = []
  const firstTokens: number[] = []
  let callsInAll = 0
  const failures = { count: 0, reasons: [] as string[], byStatus: {} as Record<string, number> }
  const fail = (reason: string, status = 0) => {
    failures.count++
    failures.byStatus[status] = (failures.byStatus[status] ?? 0) + 1
    if (failures.reasons.length < KEPT_REASONS) failures.reasons.push(reason)
  }
  return {
    endsAt,
    fail,
    async call(connection, request) {
      const startedAt = performance.now()
      let firstTokenAt = 0
      let whole = !stream
      let start: Buffer | undefined
      const onBody = (chunk: Buffer) => {
        start ??= chunk
        if (!stream) return
        if (firstTokenAt === 0 && hasContent(chunk)) firstTokenAt = performance.now()
        whole ||= ENDS.some((end) => chunk.includes(end))
      }
      try {
        const status = await connection.send(request, onBody)
        const endedAt = performance.now()
        if (status !== 200) fail(`status ${status}: ${start?.toString().slice(0, 200) ?? ''}`, status)
        else if (!whole) fail('a stream without its end')
        else {
          callsInAll++
          if (endedAt < measuredFrom || endedAt > endsAt) return
          latencies.push(endedAt - startedAt)
          if (firstTokenAt > 0) firstTokens.push(firstTokenAt - startedAt)
        }
      } catch (error) {
        fail((error as Error).message)
      }
    },
    result: () => ({
      calls: latencies.length,
      callsInAll,
      failures,
      seconds: durationMs / 1000,
      latency: summarize(latencies),
      firstToken: summarize(firstTokens),
    }),
  }
}

/** Whether an event with text is in a chunk; the first delta's empty text is none. */
function hasContent(chunk: Buffer): boolean {
  for (let at = chunk.indexOf(CONTENT); at >= 0; at = chunk.indexOf(CONTENT, at + CONTENT.length)) {
    if (chunk[at + CONTENT.length] !== QUOTE) return true
  }
  return false
}

function requestBytes(url: URL, { headers, model, stream, body: given }: LoadRequest): Buffer {
  const body = given ?? JSON.stringify({ model, stream, messages: [{ role: 'user', content: PROMPT }] })
  const head = {
    ...headers,
    host: url.host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
