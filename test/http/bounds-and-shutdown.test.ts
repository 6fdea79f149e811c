import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { CHAT_PATH, caller, expectError, readStream } from './wire.ts'

/** Many times what the short answers take. */
const GRACE_MS = 5_000
const DELAY_MS = 2_000

const stack = testStack({
  models: {
    'test/short': [{ at: 'alpha', model: 'words-10.rate-40' }],
    'test/long': [{ at: 'alpha', model: 'words-2000.rate-40' }],
  },
  environment: {
    SHUTDOWN_GRACE_MS: String(GRACE_MS),
    SHUTDOWN_DELAY_MS: String(DELAY_MS),
    PENDING_CALLS_MAX: '5',
  },
})
const owner = testAccount(stack, '1.00')

/** A connection on which a client has sent so much and then nothing. */
async function silentConnection(sent: string): Promise<Socket> {
  const { hostname, port } = new URL(stack.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  // What comes back does not matter, but has to be read for the connection to end.
  socket.resume().on('error', () => socket.destroy())
  if (sent) await new Promise((resolve) => socket.write(sent, resolve))
  return socket
}

test('an instance that serves as many calls as it can refuses the next at once, with Retry-After', async () => {
  const call = caller(stack, owner)
  const leave = new AbortController()
  const open = await Promise.all(
    [1, 2, 3, 4, 5].map(() => call({ model: 'test/long', stream: true }, { signal: leave.signal })),
  )
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  const refused = await call({ model: 'test/short' })
  expect((await expectError(refused, 503, 'overloaded')).type).toBe('overloaded_error')
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('x-should-retry')).toBeNull()
  leave.abort()
  // A place is free again when its call has ended.
  await expect.poll(async () => (await call({ model: 'test/short' })).status).toBe(200)
})

/** A WebSocket, whose messages and code of the end are collected. */
async function openSocket(message?: object) {
  const socket = new WebSocket(`${stack.url.replace('http', 'ws')}/v2/responses`, {
    headers: { authorization: `Bearer ${owner.key}` },
  })
  const types: string[] = []
  const begun = new Promise<void>((resolve) => {
    socket.on('message', (data) => {
      types.push(JSON.parse(String(data)).type)
      resolve()
    })
  })
  const closed = once(socket, 'close').then(([code]) => code as number)
  await once(socket, 'open')
  if (message) {
    socket.send(JSON.stringify({ type: 'response.create', ...message }))
    await begun
  }
  return { types, closed }
}

test('an instance that stops is not ready, takes calls for a while, finishes its answers, ends long ones truthfully, and waits for no silent client', async () => {
  await untilIdle(stack)
  const head = `POST ${CHAT_PATH} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${owner.key}\r\n`
  stack.providers.log.clear()
  const connections = await Promise.all([
    silentConnection(''),
    silentConnection('POST /v1/cha'),
    silentConnection(`${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"messages"`),
  ])
  const closed = connections.map((socket) => once(socket, 'close'))
  const call = caller(stack, owner)
  const [short, long, longWhole, whole] = await Promise.all([
    call({ model: 'test/short', stream: true }),
    call({ model: 'test/long', stream: true }),
    // Its answer comes when the instance gives up.
    Promise.resolve({ answer: call({ model: 'test/long' }) }),
    stack.providers.log.arrived().then(() => call({ model: 'test/short' })),
  ])

  const sockets = await Promise.all([openSocket(), openSocket({ model: 'test/long', input: 'Tell me.' })])

  const startedAt = performance.now()
  const stopped = stack.apis[0]!.stop()
  const probe = await fetch(`${stack.url}/readyz`)
  await expectError(probe, 503, 'overloaded')
  // Of a client whose load balancer has not seen that yet.
  expect((await call({ model: 'test/short' })).status).toBe(200)
  const ended = await Promise.all([short.text(), long.text(), whole.text()])
  await Promise.all([stopped, ...closed])
  expect(await Promise.all(sockets.map((socket) => socket.closed))).toEqual([1001, 1001])
  expect(sockets.map(({ types }) => types.at(-1))).toEqual([undefined, 'response.failed'])
  expect(performance.now() - startedAt).toBeLessThan(onBusyMachine(GRACE_MS))

  expect(readStream(ended[0]).isDone).toBe(true)
  const cutOff = readStream(ended[1])
  expect(cutOff.isDone).toBe(false)
  expect(cutOff.content).not.toBe('')
  expect(cutOff.last.error).toMatchObject({ code: 'overloaded' })
  expect(JSON.parse(ended[2])).toMatchObject({ choices: [{ finish_reason: 'stop' }] })

  // What the gateway failed costs nothing, or what was shown of it.
  await expectError(await longWhole.answer, 503, 'overloaded')
  await untilIdle(stack)
  const records = await stack.postgres.callRecord.findMany({ where: { errorCode: 'overloaded' } })
  const [streamed, answeredWhole] = [records.find((one) => one.stream), records.find((one) => !one.stream)]
  expect(answeredWhole).toMatchObject({ status: 'failed', chargePico: 0n, completionTokens: 0 })
  expect(streamed).toMatchObject({ status: 'interrupted', finishReason: 'error' })
  // A frame that was on its way when the call was ended is shown, and not charged.
  const shown = await countTextTokens(cutOff.content)
  expect(streamed!.completionTokens).toBeGreaterThan(0)
  expect(streamed!.completionTokens).toBeLessThanOrEqual(shown)
})
