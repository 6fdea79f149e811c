import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fastify, { type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseJson } from '../../src/http/plugins/read-requests.ts'
import { sendErrors } from '../../src/http/plugins/send-errors.ts'
import { readUpload, takeForms, type Upload } from '../../src/http/read-upload.ts'
import { type BodyStore, createBodyStore } from '../../src/platform/body-store/body-store.ts'
import type { ObjectStorage } from '../../src/platform/body-store/object-storage.ts'
import { createStreamSealer } from '../../src/platform/body-store/stream-sealer.ts'

const LIMITS = { fields: 4, fieldBytes: 1_000, files: 2, fileBytes: 400_000, bodyBytes: 900_000 }
const OWNER = { accountId: 'acct_1', callId: 'chatcmpl_1' }
const logger = pino({ enabled: false })

let idleMs = 10_000
let freeBytes = async (): Promise<number | null> => null
/** Objects in memory, whole ones only, as in a folder. */
const objects = new Map<string, Buffer>()
const storage: ObjectStorage = {
  async write(key, content) {
    objects.set(key, await buffer(content))
  },
  read: async () => null,
  async *list(prefix) {
    yield [...objects]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, { length }]) => ({ key, bytes: length, modifiedAt: 0 }))
  },
  remove: async (keys) => {
    for (const key of keys) objects.delete(key)
  },
  removeUnfinished: async () => undefined,
  freeBytes: () => freeBytes(),
  close: () => undefined,
}

let app: FastifyInstance
let store: BodyStore
let url: string
let last: Upload | undefined
let refused = Promise.withResolvers<unknown>()

beforeAll(async () => {
  const limits = { bytesPerAccount: 600_000, bytesInAll: 10_000_000, freeBytes: 0 }
  store = createBodyStore({
    storage,
    sealer: createStreamSealer([randomBytes(32)], 'test'),
    limits,
    clock: Date.now,
  })
  app = fastify({
    forceCloseConnections: true,
    requestTimeout: 500,
    http: { headersTimeout: 500, connectionsCheckingInterval: 50 },
  })
  await app.register(parseJson, { limits: { bodyIdleMs: 10_000 } })
  await app.register(sendErrors, { logger })
  await app.register(async (forms) => {
    takeForms(forms)
    forms.post('/upload', async (request) => {
      try {
        last = await readUpload(request, OWNER, LIMITS, { store, logger, idleMs })
        return { fields: [...last.fields], files: last.files.map(({ head: _, ...file }) => file) }
      } catch (error) {
        refused.resolve(error)
        throw error
      }
    })
  })
  app.post('/json', async ({ body }) => body)
  await app.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
})
afterAll(() => app.close())

function form(fields: Array<[string, string]>, files: Array<[string, Buffer, string?]>): FormData {
  const filled = new FormData()
  for (const [name, value] of fields) filled.append(name, value)
  for (const [name, bytes, type = 'image/png'] of files) {
    filled.append(name, new Blob([new Uint8Array(bytes)], { type }), 'my file.png')
  }
  return filled
}

async function post(body: FormData | string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/upload`, { method: 'POST', body, headers })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into arbitrary JSON.
  return { status: response.status, json: (await response.json()) as any }
}

test('fields and files are read in their order, files into the store', async () => {
  const bytes = randomBytes(300_000)
  const { status, json } = await post(
    form(
      [
        ['prompt', 'Grüße'],
        ['kinds[]', 'word'],
        ['kinds[]', 'segment'],
      ],
      [
        ['image[]', bytes],
        ['mask', Buffer.from('m'), 'audio/wav'],
      ],
    ),
  )
  expect(status).toBe(200)
  expect(json).toEqual({
    fields: [
      ['prompt', ['Grüße']],
      ['kinds', ['word', 'segment']],
    ],
    files: [
      {
        field: 'image',
        fileName: 'my file.png',
        mediaType: 'image/png',
        bytes: 300_000,
        ref: 'acct_1/chatcmpl_1/file-0',
      },
      {
        field: 'mask',
        fileName: 'my file.png',
        mediaType: 'audio/wav',
        bytes: 1,
        ref: 'acct_1/chatcmpl_1/file-1',
      },
    ],
  })
  expect(last!.files[0]!.head.equals(bytes.subarray(0, 65_536))).toBe(true)
  expect(objects.size).toBe(2)
  await store.remove(OWNER)
})

const small = Buffer.from('x')
test.each<[string, FormData, number, string]>([
  ['a file that is too long', form([], [['file', Buffer.alloc(500_000)]]), 413, 'request_too_large'],
  [
    'a second file that is too long',
    form(
      [],
      [
        ['a', small],
        ['b', Buffer.alloc(500_000)],
      ],
    ),
    413,
    'request_too_large',
  ],
  [
    'a field that is too long',
    form([['prompt', 'x'.repeat(2_000)]], [['a', small]]),
    413,
    'request_too_large',
  ],
  ['a body that is too long', form([], [['a', Buffer.alloc(1_000_000)]]), 413, 'request_too_large'],
  [
    'files of more bytes than its account may store',
    form(
      [],
      [
        ['a', Buffer.alloc(350_000)],
        ['b', Buffer.alloc(350_000)],
      ],
    ),
    429,
    'concurrency_limit_exceeded',
  ],
  [
    'too many files',
    form(
      [],
      [
        ['a', small],
        ['b', small],
        ['c', small],
      ],
    ),
    400,
    'invalid_request',
  ],
  [
    'too many fields',
    form(
      'abcde'.split('').map((name) => [name, '1']),
      [['a', small]],
    ),
    400,
    'invalid_request',
  ],
  [
    'too many parts',
    form(
      'abcde'.split('').map((name) => [name, '1']),
      [
        ['a', small],
        ['b', small],
        ['c', small],
      ],
    ),
    400,
    'invalid_request',
  ],
  ['a field without a name', form([['', 'x']], []), 400, 'invalid_request'],
])('%s is refused, and nothing stays', async (_, body, status, code) => {
  const answer = await post(body)
  expect([answer.status, answer.json.error.code]).toEqual([status, code])
  expect([...objects.keys()]).toEqual([])
})

test('what is no form is a 415, and a form elsewhere too', async () => {
  for (const type of [
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain',
    'multipart/mixed',
  ]) {
    expect(await post('{}', { 'content-type': type })).toMatchObject({
      status: 415,
      json: { error: { code: 'unsupported_media_type' } },
    })
  }
  expect(await post('--x--', { 'content-type': 'multipart/form-data' })).toMatchObject({ status: 400 })
  expect((await fetch(`${url}/json`, { method: 'POST', body: form([], []) })).status).toBe(415)
  const json = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } }
  expect(await (await fetch(`${url}/json`, json)).json()).toEqual({ a: 1 })
})

test('broken multipart data is a 400, and nothing stays', async () => {
  const type = { 'content-type': 'multipart/form-data; boundary=b' }
  const part = '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nbytes'
  for (const body of ['no part at all', part, `${part}\r\n--b\r\n`]) {
    expect(await post(body, type)).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_request' } },
    })
  }
  expect([...objects.keys()]).toEqual([])
})

test('a form that may be too long for what its account has left is refused before it is read', async () => {
  const room = await store.reserve(OWNER.accountId, 400_000)
  const body = form([], [['a', Buffer.alloc(250_000)]])
  expect(await post(body)).toMatchObject({
    status: 429,
    json: { error: { code: 'concurrency_limit_exceeded' } },
  })
  room.release()
  expect((await post(body)).status).toBe(200)
  await store.remove(OWNER)
})

test('a store that takes nothing refuses the form, whole or broken', async () => {
  const whole = form([['prompt', 'x']], [['a', Buffer.alloc(200_000)]])
  const broken = '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\nbytes'
  const type = { 'content-type': 'multipart/form-data; boundary=b' }
  try {
    freeBytes = async () => 0
    expect(await post(whole)).toMatchObject({ status: 503, json: { error: { code: 'overloaded' } } })
    expect((await post(broken, type)).status).toBe(503)
  } finally {
    freeBytes = async () => null
  }
})

const cutOffForm = (length: number) =>
  [
    'POST /upload HTTP/1.1',
    'host: x',
    'content-type: multipart/form-data; boundary=b',
    `content-length: ${length}`,
    '',
    '--b\r\ncontent-disposition: form-data; name="a"; filename="a"\r\n\r\nwhole\r\n--b\r\n',
    'content-disposition: form-data; name="b"; filename="b"\r\n\r\nhalf',
  ].join('\r\n')

test('of an upload that its client breaks off nothing stays', async () => {
  refused = Promise.withResolvers()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(cutOffForm(5_000))
  await expect.poll(() => objects.size).toBe(1)
  socket.resetAndDestroy()
  expect(await refused.promise).toMatchObject({ code: 'invalid_request' })
  await nextTurn()
  expect([...objects.keys()]).toEqual([])
})

test('an upload that takes longer than a body may is broken off, and nothing stays', async () => {
  refused = Promise.withResolvers()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(cutOffForm(5_000))
  expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 408/)
  await refused.promise
  expect([...objects.keys()]).toEqual([])
})

test('an upload of which nothing arrives is a 408 that ends its connection, and nothing stays', async () => {
  refused = Promise.withResolvers()
  idleMs = 50
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(cutOffForm(5_000))
  const answer = (await buffer(socket)).toString()
  idleMs = 10_000
  expect(answer).toMatch(/^HTTP\/1\.1 408/)
  expect(answer).toContain('No data of the request body arrived')
  expect(await refused.promise).toMatchObject({ code: 'request_timeout' })
  expect([...objects.keys()]).toEqual([])
})
