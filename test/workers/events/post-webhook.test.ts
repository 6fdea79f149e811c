import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ResolveName } from '../../../src/platform/network/public-address.ts'
import { createPostWebhook, type PostWebhookOptions } from '../../../workers/events/deliver-event.ts'
import { onBusyMachine } from '../../helpers/eventually.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../helpers/webhook-receiver.ts'

describe('posting a webhook', () => {
  let receiver: WebhookReceiver
  let internal: WebhookReceiver
  beforeAll(async () => {
    receiver = await startWebhookReceiver()
    internal = await startWebhookReceiver()
  })
  beforeEach(() => {
    receiver.received.length = 0
    receiver.answer = (response) => response.writeHead(204).end()
  })
  afterAll(() => Promise.all([receiver.close(), internal.close()]))

  const post = (url: string, options: Partial<PostWebhookOptions> = {}) =>
    createPostWebhook({ allowPrivate: false, timeoutMs: 30_000, ...options })(url, '{"a":"é"}', {
      'webhook-id': 'evt_1',
    })
  const resolvesTo =
    (...answers: LookupAddress[][]): ResolveName =>
    (_name, _options, callback) =>
      callback(null, (answers.length > 1 ? answers.shift() : answers[0]) ?? [])

  test('delivers the body and headers, and reports the status', async () => {
    expect(await post(receiver.url, { allowPrivate: true })).toMatchObject({
      kind: 'answered',
      statusCode: 204,
    })
    expect(receiver.received).toEqual([
      {
        path: '/hook',
        body: '{"a":"é"}',
        headers: expect.objectContaining({ 'content-type': 'application/json', 'webhook-id': 'evt_1' }),
      },
    ])
  })

  test.each([
    ['127.0.0.1', 4],
    ['10.1.2.3', 4],
    ['169.254.169.254', 4],
    ['::1', 6],
    ['::ffff:127.0.0.1', 6],
    ['fd00:ec2::254', 6],
  ])('a name that resolves to %s is not connected to', async (address, family) => {
    const result = await post('https://hooks.example.test/', { resolve: resolvesTo([{ address, family }]) })
    expect(result).toMatchObject({
      kind: 'unanswered',
      error: 'hooks.example.test has no public address',
    })
  })

  test.each(['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'ETIMEOUT'])(
    'an unresolvable name (%s) fails like one that is not public',
    async (code) => {
      const resolve: ResolveName = (_name, _options, callback) =>
        callback(Object.assign(new Error(code), { code }), [])
      expect(await post('https://hooks.example.test/', { resolve })).toMatchObject({
        kind: 'unanswered',
        error: 'hooks.example.test has no public address',
      })
    },
  )

  test.each([
    'https://localhost/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://0x7f.1/',
    'http://example.com/',
  ])('%s is refused without a connection', async (url) => {
    expect(await post(url)).toMatchObject({
      kind: 'unanswered',
      error: expect.stringMatching(/^the address is not/),
    })
  })

  test('a name that was public and turns to loopback is refused at its next connection', async () => {
    const resolve = resolvesTo([{ address: '192.0.2.1', family: 4 }], [{ address: '127.0.0.1', family: 4 }])
    for (let times = 0; times < 2; times += 1) {
      expect(await post('https://rebinding.example.test/', { resolve })).toMatchObject({
        kind: 'unanswered',
        error: 'rebinding.example.test has no public address',
      })
    }
  })

  test('the socket goes only where the checked answer said', async () => {
    const asked: string[] = []
    const resolve: ResolveName = (name, _options, callback) => {
      asked.push(name)
      callback(null, [{ address: '127.0.0.1', family: 4 }])
    }
    const url = `http://hooks.example.test:${receiver.port}/hook`
    expect(await post(url, { allowPrivate: true, resolve })).toMatchObject({ statusCode: 204 })
    expect(asked).toEqual(['hooks.example.test'])
  })

  test.each([301, 302, 303, 307, 308])('a redirect (%i) to loopback is not followed', async (status) => {
    receiver.answer = (response) => response.writeHead(status, { location: internal.url }).end()
    expect(await post(receiver.url, { allowPrivate: true })).toMatchObject({
      kind: 'answered',
      statusCode: status,
    })
    expect(internal.received).toEqual([])
  })

  test('no response within the deadline is none', async () => {
    receiver.answer = () => undefined
    const result = await post(receiver.url, { allowPrivate: true, timeoutMs: 150 })
    expect(result).toMatchObject({ kind: 'unanswered', error: 'no response within 150 ms' })
    expect(result.durationMs).toBeLessThan(onBusyMachine(1_500))
  })

  test('an answer that trickles on past the deadline counts by its status', async () => {
    receiver.answer = (response) => void response.writeHead(200).write('a')
    const result = await post(receiver.url, { allowPrivate: true, timeoutMs: 2_000 })
    expect(result).toMatchObject({ kind: 'answered', statusCode: 200 })
  })

  test('an endless answer is cut off', async () => {
    let written = 0
    const cutOff = Promise.withResolvers<void>()
    receiver.answer = (response) => {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384
      }
      response.on('drain', more)
      response.on('close', () => cutOff.resolve())
      more()
    }
    expect(await post(receiver.url, { allowPrivate: true })).toMatchObject({ statusCode: 200 })
    await cutOff.promise
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  test('Retry-After is passed on', async () => {
    receiver.answer = (response) => response.writeHead(503, { 'retry-after': '7' }).end()
    expect(await post(receiver.url, { allowPrivate: true })).toMatchObject({
      statusCode: 503,
      retryAfterMs: 7_000,
    })
  })

  test('another protocol, and a closed port, are no answer', async () => {
    const server = createServer((socket) => socket.resume().end('220 mail.example.test ESMTP\r\n'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const url = `http://127.0.0.1:${port}/`
    expect(await post(url, { allowPrivate: true })).toMatchObject({
      kind: 'unanswered',
      error: expect.stringMatching(/^HPE_/),
    })
    server.close()
    await once(server, 'close')
    expect(await post(url, { allowPrivate: true })).toMatchObject({
      kind: 'unanswered',
      error: 'ECONNREFUSED',
    })
  })
})
