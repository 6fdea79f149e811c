import { describe, expect, test } from 'vitest'
import { asForm, everyFunction, presetReader, readers, served } from '../helpers/converters.ts'
import { type Growth, growingValues } from '../helpers/growing-bodies.ts'
import { threadTimeMs } from '../helpers/linear-time.ts'

const READERS = [...(await readers()), presetReader()]
/** What is pure, and what is made of requests for providers. */
const MODULES = await everyFunction('src/{core/**,providers}/*.ts')

/** What doubles with each is found among a few, before it takes for ever: 16 times as long, where a budget does not end it. */
const FEW = { most: 20, part: 16 }
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

const quarterOf = ({ most }: Pick<Growth, 'most'>) => ({ most, part: Math.ceil(most / GROWTH) })

/** What is wrong with how the work for so many things grows, or null. `firstMs`: what the most took already. */
function growthProblem(
  msOf: (count: number) => number,
  { most, part }: { most: number; part: number },
  firstMs?: number,
): string | null {
  let problem: string | null = null
  for (const measurement of MEASUREMENTS) {
    const ms = measurement === 1 && firstMs !== undefined ? firstMs : msOf(most)
    if (ms < TOO_SHORT_MS) return null
    const partMs = msOf(part)
    if (ms <= MOST_TIMES_LONGER * Math.max(partMs, TOO_SHORT_MS / GROWTH)) return null
    problem = `${most} take ${ms.toFixed(0)} ms, ${part} of them ${partMs.toFixed(0)}`
  }
  return problem
}

/** What is wrong with how a body is read and converted, or null. */
function problemOf(reader: Reader, growth: Growth): string | null {
  const msOf = (count: number) => measured(reader, growth, count).ms
  const early = growth.most > DEEP ? null : growthProblem(msOf, FEW)
  if (early) return early
  const { sent, bytes, ms } = measured(reader, growth, growth.most)
  if (sent > MOST_TIMES_LARGER * bytes + RESOLVED_CHARS) return `${bytes} bytes become ${sent}`
  return growthProblem(msOf, quarterOf(growth), ms)
}

describe('whatever grows in a body, reading and converting it takes time and bytes that grow with it', () => {
  test.each(READERS)('$name', (reader) => {
    // One is enough: where a thing takes for ever, others do too.
    for (const growth of reader.growths)
      expect([growth.name, problemOf(reader, growth)]).toEqual([growth.name, null])
  })
})

describe('whatever a function without a side is given, it takes time that grows with it', () => {
  const values = growingValues().map(({ name, make, ...growth }) => {
    const { most, part } = quarterOf(growth)
    const made = { [most]: make(most), [part]: make(part) }
    return { name, most, part, made }
  })
  test.each(MODULES)('%s', (_file, functions) => {
    for (const { name, call } of functions)
      for (const { name: what, made, ...counts } of values) {
        const msOf = (count: number) => {
          const startedAt = threadTimeMs()
          call(made[count])
          return threadTimeMs() - startedAt
        }
        expect([name, what, growthProblem(msOf, counts)]).toEqual([name, what, null])
      }
  })
})
