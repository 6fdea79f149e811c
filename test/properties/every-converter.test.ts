import { describe, expect, test } from 'vitest'
import { asForm, readers, served } from '../helpers/converters.ts'
import type { Growth } from '../helpers/growing-bodies.ts'
import { threadTimeMs } from '../helpers/linear-time.ts'

const READERS = await readers()

/** What doubles with each is found among the first few, before it takes for ever. */
const FEW = [2, 4, 6, 8, 10, 12, 14, 16, 18]
const FEW_BOUND_MS = 250
const DEEP = 200
/** A quadratic takes 16 times as long for 4 times the input; a linear one 4 times, and with caches up to twice that. */
const GROWTH = 4
const MOST_TIMES_LONGER = 9
/** A shorter measurement says more of the machine than of the code. */
const TOO_SHORT_MS = 25
/** What others do on the machine spoils a measurement now and then, but not every one. */
const MEASUREMENTS = [1, 2, 3]
/** What providers are sent may be so many times the body, for each of them, besides what schemas without references are. */
const MOST_TIMES_LARGER = 4
const RESOLVED_CHARS = 500_000

type Reader = (typeof READERS)[number]

/** Reads and converts a body in which so many things are; returns the ms of the processor's time, and the most that is sent. */
function measured(reader: Reader, growth: Growth, count: number) {
  const body = asForm(growth.make(count) as object)
  const bytes = JSON.stringify(body).length
  const startedAt = threadTimeMs()
  const sent = served(reader, body)
  return { ms: threadTimeMs() - startedAt, bytes, sent: Math.max(0, ...sent.map((text) => text.length)) }
}

/** The first that is within the bound, or the last. */
function bestOf(measure: () => number): number {
  let ms = Number.POSITIVE_INFINITY
  for (const _ of MEASUREMENTS) if (ms > FEW_BOUND_MS) ms = measure()
  return ms
}

/** What is wrong with how a body is read and converted, or null. */
function problemOf(reader: Reader, growth: Growth): string | null {
  for (const count of growth.most > DEEP ? [] : FEW) {
    const ms = bestOf(() => measured(reader, growth, count).ms)
    if (ms > FEW_BOUND_MS) return `${count} take ${ms.toFixed(0)} ms`
  }
  let problem: string | null = null
  for (const _ of MEASUREMENTS) {
    const most = measured(reader, growth, growth.most)
    if (most.sent > MOST_TIMES_LARGER * most.bytes + RESOLVED_CHARS)
      return `${most.bytes} bytes become ${most.sent}`
    if (most.ms < TOO_SHORT_MS) return null
    const part = measured(reader, growth, Math.ceil(growth.most / GROWTH))
    problem = `${growth.most} take ${most.ms.toFixed(0)} ms, a quarter of them ${part.ms.toFixed(0)}`
    if (most.ms <= MOST_TIMES_LONGER * Math.max(part.ms, TOO_SHORT_MS / GROWTH)) return null
  }
  return problem
}

describe('whatever grows in a body, reading and converting it takes time and bytes that grow with it', () => {
  test.each(READERS)('$name', (reader) => {
    // One is enough: where a thing takes for ever, others do too.
    for (const growth of reader.growths)
      expect([growth.name, problemOf(reader, growth)]).toEqual([growth.name, null])
  })
})
