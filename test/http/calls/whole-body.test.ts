import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import type { WholeBody } from '../../../src/http/calls/completion-writer.ts'
import { sendWholeBody } from '../../../src/http/calls/whole-body.ts'

const CHUNK = Buffer.alloc(64 * 1024, 'a')
/** More than a connection holds unread. */
const LONG = 64 * 1024 * 1024

let app: FastifyInstance | undefined
afterEach(() => app?.close())

/** A server that sends these pieces from a store of files that are read as `open` says. */
async function serve(
  pieces: WholeBody['pieces'],
  open: (ref: string) => Promise<Readable | null>,
  { unreadMs, clock }: { unreadMs?: number; clock?: () => number } = {},
) {
  const lost = vi.fn()
  app = Fastify()
  app.get('/', (_, reply) =>
    sendWholeBody(
      { contentType: 'audio/wav', pieces },
      reply,
      { files: { open }, lost, ...(clock && { clock }) },
      unreadMs,
    ),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { lost, port, url: `http://127.0.0.1:${port}/` }
}

const file = (bytes: number) => ({ ref: `file-${bytes}`, bytes })

/** So many bytes; with an error after them if there is one. */
const readable = (bytes: number, error?: Error) =>
  Readable.from(
    (async function* () {
      for (let left = bytes; left > 0; left -= CHUNK.length)
        yield CHUNK.subarray(0, Math.min(left, CHUNK.length))
      if (error) throw error
    })(),
    { objectMode: false },
  )

test('texts and files are sent one after the other, and their length is announced', async () => {
  const { url, lost } = await serve(['<', file(3), '|ü|', file(2), '>'], async (ref) =>
    readable(Number(ref.slice(5))),
  )
  const response = await fetch(url)
  expect(response.headers.get('content-length')).toBe('11')
  expect(response.headers.get('content-type')).toBe('audio/wav')
  expect(await response.text()).toBe('<aaa|ü|aa>')
  expect(lost).not.toHaveBeenCalled()
})

test('an answer whose file is gone is an error, and no other file stays open', async () => {
  const first = readable(3)
  const { url, lost } = await serve([file(3), file(2)], async (ref) => (ref === 'file-3' ? first : null))
  expect((await fetch(url)).status).toBe(500)
  expect(lost).toHaveBeenCalledOnce()
  expect(first.destroyed).toBe(true)
})

test('an answer whose file breaks off breaks off, and is never taken for whole', async () => {
  const { url, lost } = await serve([file(200_000)], async () => readable(100_000, new Error('tampered')))
  const response = await fetch(url)
  await expect(response.arrayBuffer()).rejects.toThrow()
  expect(lost).toHaveBeenCalledOnce()
})

test('a client that reads nothing is cut off, and its file closed', async () => {
  const content = readable(LONG)
  const { port, lost } = await serve([file(LONG)], async () => content, { unreadMs: 50 })
  const socket = connect(port, '127.0.0.1').pause()
  socket.write('GET / HTTP/1.1\r\nhost: gateway\r\n\r\n')
  await new Promise((resolve) => content.once('close', resolve))
  socket.destroy()
  expect(lost).not.toHaveBeenCalled()
})

test.each([
  ['a client that was slow to read pays for an answer that broke off meanwhile', 10_000, false],
  ['a client that read along does not pay for an answer that broke off', 100, true],
])('%s', async (_name, stalledMs, isLost) => {
  let [nowMs, produced, before] = [0, 0, 0]
  const endless = async function* () {
    for (;;) {
      produced++
      yield CHUNK
    }
  }
  const content = Readable.from(endless(), { objectMode: false })
  const { port, lost } = await serve([file(LONG)], async () => content, { clock: () => nowMs })
  const socket = connect(port, '127.0.0.1').pause()
  socket.write('GET / HTTP/1.1\r\nhost: gateway\r\n\r\n')
  const standsStill = () => {
    const isStill = produced > 0 && produced === before
    before = produced
    return isStill
  }
  await expect.poll(standsStill, { interval: 100 }).toBe(true)
  nowMs += stalledMs
  content.destroy(new Error('the storage closed an idle connection'))
  socket.on('error', () => undefined).resume()
  await new Promise((resolve) => socket.once('close', resolve))
  expect(lost).toHaveBeenCalledTimes(isLost ? 1 : 0)
})
