import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { LRUCache } from 'lru-cache'
import { beforeEach, describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { ApiError } from '../../../src/core/kernel/errors.ts'
import { ResponsesConnection } from '../../../src/http/public/responses-connection.ts'
import type { KeptTurns } from '../../../src/http/public/responses-conversation.ts'

const MINUTE_MS = 60_000
const QUESTION = { role: 'user', content: 'Where?' }
const ANSWER = {
  type: 'message',
  id: 'msg_1',
  content: [{ type: 'output_text', text: 'Here\u2028 \n\n there.' }],
}
type Event = Record<string, unknown> & { type: string }

/** What the connection does with its WebSocket. */
class TestSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  readonly sent: Event[] = []
  closed: [number, string] | null = null
  pings = 0
  isPaused = false
  /** Null: the client reads. */
  unread: Array<() => void> | null = null
  send(text: string, sent: () => void) {
    this.sent.push(JSON.parse(text))
    if (this.unread) this.unread.push(sent)
    else sent()
  }
  close(code: number, reason: string) {
    this.closed ??= [code, reason]
    this.readyState = 2
  }
  terminate() {
    this.readyState = 3
    this.emit('close')
  }
  ping() {
    this.pings++
  }
  pause() {
    this.isPaused = true
  }
}

/** A turn that the connection asked for. */
interface Asked {
  body: Event
  answer: (status: number, headers?: object) => PassThrough
  isAbandoned: boolean
}

let socket: TestSocket
let connection: ResponsesConnection
let asked: Asked[]
let nowMs: number
/** Bytes of messages. */
let space: { reserved: number }
const ROOM = 1_000

beforeEach(() => {
  socket = new TestSocket()
  asked = []
  nowMs = 1_000
  const own = { reserved: 0 }
  space = own
  connection = new ResponsesConnection(socket as unknown as WebSocket, {
    ask(body) {
      const { promise, resolve } = Promise.withResolvers<IncomingMessage>()
      const turn: Asked = {
        body: JSON.parse(body),
        isAbandoned: false,
        answer(statusCode, headers = {}) {
          const stream = new PassThrough()
          resolve(Object.assign(stream, { statusCode, headers }) as unknown as IncomingMessage)
          return stream
        },
      }
      asked.push(turn)
      return { response: promise, abandon: () => Object.assign(turn, { isAbandoned: true }) }
    },
    reserve: () => {
      let held = 0
      const add = (bytes: number) => {
        held += bytes
        own.reserved += bytes
      }
      return {
        grow(bytes) {
          if (own.reserved + bytes > ROOM) throw new ApiError('overloaded', 'Full.', { retryAfterSeconds: 1 })
          add(bytes)
        },
        hold: () => undefined,
        release: () => add(-held),
      }
    },
    kept: new LRUCache<object, KeptTurns>({ max: 10 }),
    clock: () => nowMs,
    limits: { bodyTimeoutMs: 2 * MINUTE_MS },
    logger: { warn: () => undefined },
  })
})

function send(message: object | string) {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  connection.arrived(text.length)
  socket.emit('message', Buffer.from(text), false)
}
const create = (fields: object) => send({ type: 'response.create', ...fields })
const event = (type: string, fields: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const responseOf = (id: string, fields: object = {}) => ({
  ...{ id, status: 'completed', store: false, output: [ANSWER] },
  ...fields,
})

/** Answers the turn that was asked for last with a response. */
async function complete(id: string, fields: object = {}): Promise<void> {
  const turn = await nextAsked()
  const response = responseOf(id, fields)
  turn.answer(200).end(event('response.created', {}) + event('response.completed', { response }))
  await expect.poll(() => socket.sent.at(-1)).toMatchObject({ response: { id } })
}
let answered = 0
beforeEach(() => {
  answered = 0
})
async function nextAsked(): Promise<Asked> {
  await expect.poll(() => asked.length).toBeGreaterThan(answered)
  return asked[answered++]!
}

describe('a turn', () => {
  test('is asked for as a stream, and its events are messages; the first has the headers', async () => {
    create({ model: 'm', input: 'Where?', background: false })
    const turn = await nextAsked()
    expect(turn.body).toEqual({ model: 'm', input: 'Where?', stream: true, previous_response_id: null })
    const stream = turn.answer(200, { 'x-request-id': 'r1', 'x-ignored-parameters': 'n', date: 'today' })
    const written = Buffer.from(
      `${event('response.created', {})}: keep-alive\n\n${event('response.completed', { response: responseOf('resp_1') })}`,
    )
    // A piece may end within a character.
    const within = written.indexOf('\u2028') + 1
    stream.write(written.subarray(0, within))
    stream.end(written.subarray(within))
    await expect.poll(() => socket.sent).toHaveLength(2)
    expect(socket.sent).toEqual([
      { type: 'response.created', headers: { 'x-request-id': 'r1', 'x-ignored-parameters': 'n' } },
      { type: 'response.completed', response: responseOf('resp_1') },
    ])
    expect(space.reserved).toBe(0)
  })

  test('sends again what is not stored, and names what is', async () => {
    create({ input: 'Where?', previous_response_id: 'resp_stored' })
    await complete('resp_1')
    create({ input: [QUESTION], previous_response_id: 'resp_1' })
    await complete('resp_2')
    const first = { role: 'user', content: 'Where?' }
    expect(asked[1]!.body).toMatchObject({
      input: [first, ANSWER, QUESTION],
      previous_response_id: 'resp_stored',
    })
    create({ input: [QUESTION], previous_response_id: 'resp_2' })
    await complete('resp_3', { store: true })
    expect(asked[2]!.body.input).toEqual([first, ANSWER, QUESTION, ANSWER, QUESTION])
    create({ input: [QUESTION], previous_response_id: 'resp_3' })
    await complete('resp_4')
    expect(asked[3]!.body).toMatchObject({ input: [QUESTION], previous_response_id: 'resp_3' })
  })

  test('that only warms up asks no model, and is continued', async () => {
    create({ model: 'm', generate: false, input: [QUESTION] })
    await expect.poll(() => socket.sent).toHaveLength(2)
    const [, completed] = socket.sent
    const { id, output } = completed!.response as { id: string; output: unknown[] }
    expect(output).toEqual([])
    create({ model: 'm', input: [], previous_response_id: id })
    expect((await nextAsked()).body).toMatchObject({ input: [QUESTION], previous_response_id: null })
  })

  test('that is refused is an error with its status, and the next one is taken', async () => {
    create({ input: [QUESTION], previous_response_id: 'resp_gone' })
    const error = { code: 'not_found', param: 'previous_response_id', message: 'None.' }
    ;(await nextAsked()).answer(404, { 'retry-after': '1' }).end(JSON.stringify({ error }))
    await expect.poll(() => socket.sent).toHaveLength(1)
    expect(socket.sent[0]).toEqual({
      type: 'error',
      status: 400,
      error: { ...error, code: 'previous_response_not_found' },
      headers: { 'retry-after': '1' },
    })
    for (const wrong of ['[1]', '{', { type: 'response.steer' }, { type: 'response.create', stream_id: 'a' }])
      send(wrong)
    await expect.poll(() => socket.sent).toHaveLength(5)
    expect(socket.sent.slice(1).map(({ status }) => status)).toEqual([400, 400, 400, 422])
    send({ type: 'response.processed', response_id: 'resp_1' })
    create({ input: 'Where?' })
    await complete('resp_1')
  })

  test('waits for the one before it; too many that wait close the connection', async () => {
    create({ input: 'one' })
    create({ input: 'two' })
    await complete('resp_1')
    await complete('resp_2')
    expect(asked.map(({ body }) => body.input)).toEqual(['one', 'two'])
    for (let count = 0; count < 6; count++) create({ input: 'more' })
    expect(socket.closed).toEqual([1008, 'concurrency_limit_exceeded'])
    expect(socket.sent.at(-1)).toMatchObject({ type: 'error', status: 429 })
  })

  test('of a client that left is abandoned, and nothing of it stays reserved', async () => {
    create({ input: 'one' })
    create({ input: 'two' })
    const turn = await nextAsked()
    connection.arrived(100)
    socket.terminate()
    expect(turn.isAbandoned).toBe(true)
    turn.answer(200).destroy(new Error('aborted'))
    await expect.poll(() => space.reserved).toBe(0)
    expect(asked).toHaveLength(1)
  })

  test('is read no faster than its client reads', async () => {
    create({ input: 'Where?' })
    const stream = (await nextAsked()).answer(200)
    socket.unread = []
    stream.write(event('response.created', {}))
    await expect.poll(() => socket.sent).toHaveLength(1)
    stream.write(event('response.in_progress', {}))
    stream.write(event('response.output_text.delta', {}))
    await expect.poll(() => stream.readableLength).toBeGreaterThan(0)
    expect(socket.sent).toHaveLength(1)
    socket.unread.shift()!()
    await expect.poll(() => socket.sent.length).toBeGreaterThan(1)
  })

  test('that breaks off closes the connection', async () => {
    create({ input: 'Where?' })
    const stream = (await nextAsked()).answer(200)
    stream.write(event('response.created', {}))
    await expect.poll(() => socket.sent).toHaveLength(1)
    stream.destroy(new Error('aborted'))
    await expect.poll(() => socket.closed?.[0]).toBe(1011)
  })
})

describe('a message that arrives', () => {
  test('counts from its first byte, control frames apart, and is refused where there is no space', () => {
    connection.arrived(400)
    connection.arrived(10)
    socket.emit('pong', Buffer.alloc(4))
    expect(space.reserved).toBe(410)
    connection.arrived(600)
    expect(socket.sent).toMatchObject([{ type: 'error', status: 503, headers: { 'retry-after': '1' } }])
    expect(socket.closed).toEqual([1013, 'overloaded'])
    expect({ ...space, isPaused: socket.isPaused }).toEqual({ reserved: 0, isPaused: true })
  })

  test('has to arrive in time', () => {
    connection.arrived(8)
    socket.emit('ping', Buffer.alloc(2))
    nowMs += 90_000
    connection.arrived(5)
    nowMs += 45_000
    connection.look()
    expect(socket.closed).toBeNull()
    nowMs += 90_000
    connection.arrived(5)
    connection.look()
    expect(socket.closed).toEqual([1008, 'request_timeout'])
    expect(socket.sent).toMatchObject([{ type: 'error', status: 408 }])
  })

  test('has to be text', () => {
    socket.emit('message', Buffer.from('{}'), true)
    expect(socket.closed).toEqual([1008, 'invalid_json'])
  })
})

describe('a connection', () => {
  const passes = (minutes: number) => {
    nowMs += minutes * MINUTE_MS
    connection.arrived(6)
    socket.emit('pong', Buffer.alloc(0))
    connection.look()
  }
  const LIMIT = { type: 'error', status: 400, error: { code: 'websocket_connection_limit_reached' } }

  test('without a turn is pinged, and closed after a quarter of an hour', () => {
    passes(15)
    expect({ pings: socket.pings, closed: socket.closed }).toEqual({ pings: 1, closed: null })
    passes(1)
    expect(socket.sent).toMatchObject([LIMIT])
    expect(socket.closed?.[0]).toBe(1000)
  })

  test('is closed after an hour, once its turn has ended', async () => {
    create({ input: 'Where?' })
    const turn = await nextAsked()
    passes(61)
    expect(socket.closed).toBeNull()
    turn.answer(200).end(event('response.completed', { response: responseOf('resp_1') }))
    await expect.poll(() => socket.closed?.[0]).toBe(1000)
    expect(socket.sent).toMatchObject([{ type: 'response.completed' }, LIMIT])
  })

  test('whose client does not answer pings is cut', () => {
    nowMs += 61_000
    connection.look()
    expect(socket.readyState).toBe(3)
  })

  test('of an instance that stops is closed once its turn has ended, and takes no other', async () => {
    create({ input: 'Where?' })
    const turn = await nextAsked()
    connection.retire()
    create({ input: 'And then?' })
    expect(socket.closed).toBeNull()
    turn.answer(200).end(event('response.completed', { response: responseOf('resp_1') }))
    await expect.poll(() => socket.closed?.[0]).toBe(1001)
    expect(asked).toHaveLength(1)
  })
})
