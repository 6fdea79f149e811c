import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { Exchange } from '../../src/providers/http/exchange.ts'
import { ReadingTurns } from '../../src/providers/http/reading-turns.ts'
import { createTransport } from '../../src/providers/provider-clients.ts'

/** More than a pool of connections usually has. */
const CALLS = 1_100
const PATIENT = { connectMs: 30_000, firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 }

describe('the transport', () => {
  test('sends every call at once, however many a worker runs at one provider', async () => {
    const waiting: ServerResponse[] = []
    // Answers none before all are there: one that waited for a connection would never come.
    const provider = createServer((request, response) => {
      request.resume()
      if (waiting.push(response) === CALLS) for (const each of waiting) each.end('whole')
    })
    await new Promise<void>((resolve) =>
      provider.listen({ port: 0, host: '127.0.0.1', backlog: CALLS }, resolve),
    )
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`
    const transport = createTransport({ connectTimeoutMs: 30_000 })
    const call = () =>
      new Promise<string>((resolve) => {
        transport.post(
          {
            url,
            headers: [],
            body: '{}',
            limits: PATIENT,
            signal: new AbortController().signal,
            accountId: 'acct_1',
          },
          () => ({
            head: () => undefined,
            data: () => undefined,
            end: () => resolve('ended'),
            failure: ({ kind }) => resolve(kind),
            crash: (error) => resolve(String(error)),
          }),
        )
      })
    try {
      const ends = new Set(await Promise.all(Array.from({ length: CALLS }, call)))
      expect([...ends]).toEqual(['ended'])
    } finally {
      await transport.close()
      provider.closeAllConnections()
      provider.close()
    }
  })

  test('gives whole answers, however much faster they come than they are read', async () => {
    const answer = Buffer.alloc(4 * 1024 * 1024, 'a')
    // Ends that are told by the length, by the last chunk, and by the connection.
    const kinds: Array<(response: ServerResponse) => void> = [
      (response) => response.setHeader('content-length', answer.length).end(answer),
      (response) => response.end(gzipSync(answer)),
      (response) => {
        for (let at = 0; at < answer.length; at += 10_000) response.write(answer.subarray(at, at + 10_000))
        response.end()
      },
      (response) => {
        response.useChunkedEncodingByDefault = false
        response.setHeader('connection', 'close').end(answer)
      },
    ]
    const provider = createServer((request, response) => {
      const kind = Number(request.url?.slice(1))
      if (kind === 1) response.setHeader('content-encoding', 'gzip')
      // A connection that is closed while it holds bytes nobody read is reset.
      request.resume().on('end', () => kinds[kind]!(response))
    })
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    const transport = createTransport({ connectTimeoutMs: 30_000 })
    const read = (kind: number) =>
      new Promise<number | string>((resolve) => {
        let bytes = 0
        transport.post(
          {
            url: `${origin}/${kind % kinds.length}`,
            headers: [],
            body: '{}',
            limits: PATIENT,
            signal: new AbortController().signal,
            accountId: 'acct_1',
          },
          () => ({
            head: () => undefined,
            data: (chunk) => {
              bytes += chunk.length
            },
            end: () => resolve(bytes),
            failure: ({ kind: failure }) => resolve(failure),
            crash: (error) => resolve(String(error)),
          }),
        )
      })
    try {
      const lengths = await Promise.all(Array.from({ length: 12 }, (_, index) => read(index)))
      expect(new Set(lengths)).toEqual(new Set([answer.length]))
    } finally {
      await transport.close()
      provider.closeAllConnections()
      provider.close()
    }
  })
})

const KIB = 1024

test('reading pauses for an account beyond its share of a turn, and for no other account', async () => {
  const turns = new ReadingTurns()
  const resumed: string[] = []
  const read = (account: string, answer: string, bytes: number) =>
    turns.read(account, bytes, () => resumed.push(answer))

  expect(read('flood', 'a', 20 * KIB)).toBe(true)
  expect(read('flood', 'b', 20 * KIB)).toBe(false)
  expect(read('flood', 'c', 1)).toBe(false)
  expect(read('quiet', 'd', 20 * KIB)).toBe(true)

  // One a turn, in the order in which they were stopped.
  await nextTurn()
  expect(resumed).toEqual(['b'])
  expect(read('flood', 'b', 64 * KIB)).toBe(false)
  expect(read('quiet', 'd', 20 * KIB)).toBe(true)
  await nextTurn()
  expect(resumed).toEqual(['b', 'c'])
  await nextTurn()
  expect(resumed).toEqual(['b', 'c', 'b'])

  // A new turn is a new share.
  await nextTurn()
  expect(read('flood', 'a', 20 * KIB)).toBe(true)
})

test.each([
  { what: 'goes on', isOver: false },
  { what: 'is over', isOver: true },
])('beyond the share of its account, a response that $what pauses only if more of it comes', ({ isOver }) => {
  const turns = new ReadingTurns()
  const done: string[] = []
  const controller = {
    abort: () => done.push('abort'),
    pause: () => done.push('pause'),
    resume: () => done.push('resume'),
  }
  const signal = new AbortController().signal
  const request = { url: '', headers: [], body: '{}', limits: PATIENT, signal, accountId: 'flood' }
  const exchange = new Exchange(
    request,
    () => ({
      head: () => undefined,
      data: () => {
        if (isOver) exchange.drain()
      },
      end: () => done.push('end'),
      failure: () => done.push('failure'),
      crash: () => done.push('crash'),
    }),
    turns,
  )
  exchange.onRequestStart(controller)
  exchange.onResponseStart(controller, 200, {})
  turns.read('flood', 32 * KIB, () => undefined)
  exchange.onResponseData(controller, Buffer.alloc(1))
  expect(done).toEqual(isOver ? [] : ['pause'])
  exchange.onResponseEnd()
})
