import { setTimeout as delay } from 'node:timers/promises'
import { summarize } from './latency-summary.ts'
import { LoadConnection } from './load-connection.ts'
import type { LoadResult, Scenario, Target } from './load-scenario.ts'

const PROMPT = 'Why does a queue turn a burst of work into a steady flow? Answer in a few words.'
const CONTENT = Buffer.from('"content":"')
const QUOTE = 0x22
const DONE = Buffer.from('[DONE]')
const KEPT_REASONS = 5
/** A paced load that the other side cannot follow must not open connections without end. */
const MAX_CONNECTIONS = 2_000

/** Puts a load on a target and measures it. */
export async function generateLoad(scenario: Scenario): Promise<LoadResult> {
  const meter = createMeter(scenario)
  const request = requestBytes(scenario.target)
  const idle: LoadConnection[] = []
  const open: LoadConnection[] = []
  const connection = () => {
    const existing = idle.pop()
    if (existing) return existing
    const created = new LoadConnection(scenario.target.port)
    open.push(created)
    return created
  }
  const call = async () => {
    const used = connection()
    await meter.call(used, request)
    idle.push(used)
  }

  if (scenario.load.kind === 'callers') {
    const { callers, startOverMs = 0 } = scenario.load
    const caller = async (index: number) => {
      if (startOverMs > 0) await delay((startOverMs * index) / callers)
      while (performance.now() < meter.endsAt) await call()
    }
    await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)))
  } else {
    await pace(scenario.load.callsPerSecond, meter.endsAt, () => {
      if (idle.length > 0 || open.length < MAX_CONNECTIONS) return call()
      meter.fail('the target is too slow for this rate')
      return Promise.resolve()
    })
  }
  for (const used of open) used.close()
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
    await delay(1)
  }
  await Promise.all(running)
}

interface Meter {
  readonly endsAt: number
  /** One call. Failures are counted, never thrown. */
  call(connection: LoadConnection, request: Buffer): Promise<void>
  fail(reason: string): void
  result(): LoadResult
}

function createMeter({ target, durationMs, warmUpMs }: Scenario): Meter {
  const measuredFrom = performance.now() + warmUpMs
  const endsAt = measuredFrom + durationMs
  const latencies: number[] = []
  const firstTokens: number[] = []
  const failures = { count: 0, reasons: [] as string[] }
  const fail = (reason: string) => {
    failures.count++
    if (failures.reasons.length < KEPT_REASONS) failures.reasons.push(reason)
  }
  return {
    endsAt,
    fail,
    async call(connection, request) {
      const startedAt = performance.now()
      let firstTokenAt = 0
      let whole = !target.stream
      let start: Buffer | undefined
      const onBody = (chunk: Buffer) => {
        start ??= chunk
        if (!target.stream) return
        if (firstTokenAt === 0 && hasContent(chunk)) firstTokenAt = performance.now()
        if (chunk.includes(DONE)) whole = true
      }
      try {
        const status = await connection.send(request, onBody)
        const endedAt = performance.now()
        if (status !== 200) fail(`status ${status}: ${start?.toString().slice(0, 200) ?? ''}`)
        else if (!whole) fail('a stream without its end')
        else if (startedAt >= measuredFrom && endedAt <= endsAt) {
          latencies.push(endedAt - startedAt)
          if (firstTokenAt > 0) firstTokens.push(firstTokenAt - startedAt)
        }
      } catch (error) {
        fail((error as Error).message)
      }
    },
    result: () => ({
      calls: latencies.length,
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

function requestBytes({ path, apiKey, model, stream }: Target): Buffer {
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: PROMPT }] })
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${apiKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
