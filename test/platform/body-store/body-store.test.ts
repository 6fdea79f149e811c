import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type BodyStoreLimits, createBodyStore } from '../../../src/platform/body-store/body-store.ts'
import { createFolderStorage } from '../../../src/platform/body-store/folder-storage.ts'
import type { ObjectStorage } from '../../../src/platform/body-store/object-storage.ts'
import { createS3Storage } from '../../../src/platform/body-store/s3-storage.ts'
import { createStreamSealer } from '../../../src/platform/body-store/stream-sealer.ts'
import { startFakeS3 } from '../../helpers/fake-s3.ts'

const MEGABYTE = 1024 * 1024
const LIMITS = { bytesPerAccount: 20 * MEGABYTE, bytesInAll: 30 * MEGABYTE, freeBytes: 0 }
const sealer = createStreamSealer([randomBytes(32)], 'test')
const OWNER = { accountId: 'acct_1', callId: 'chatcmpl_1' }
const OPTIONS = { maxBytes: 8 * MEGABYTE, mediaType: 'image/png' }

let folder: string
let s3: Awaited<ReturnType<typeof startFakeS3>>
const made: ObjectStorage[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-bodies-'))
  s3 = await startFakeS3()
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
})
afterEach(async () => {
  for (const storage of made.splice(0)) storage.close()
  s3.fail(false)
  s3.objects.clear()
  s3.uploads.clear()
  await rm(folder, { recursive: true, force: true })
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await s3.close()
})

const STORAGES = {
  folder: () => createFolderStorage(join(folder, 'bodies')),
  bucket: () => createS3Storage({ bucket: 'files', prefix: 'sy/', region: 'eu-1', endpoint: s3.url }),
}

function openStore(kind: keyof typeof STORAGES, limits: Partial<BodyStoreLimits> = {}, clock = Date.now) {
  const storage = STORAGES[kind]()
  made.push(storage)
  return { storage, store: createBodyStore({ storage, sealer, limits: { ...LIMITS, ...limits }, clock }) }
}

async function keysIn(storage: ObjectStorage): Promise<string[]> {
  const keys: string[] = []
  for await (const entries of storage.list('')) keys.push(...entries.map(({ key }) => key))
  return keys
}

async function* chunksOf(bytes: Buffer, size = 100_000) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function* cutOff(bytes: Buffer) {
  yield* chunksOf(bytes)
  throw new Error('the client left')
}

describe.each(['folder', 'bucket'] as const)('a store in a %s', (kind) => {
  // 6 MB are more than one part of an upload to a bucket.
  test.each([0, 5, 6 * MEGABYTE])('returns the %i bytes of a body to another process', async (length) => {
    const bytes = randomBytes(length)
    const stored = await openStore(kind).store.put(OWNER, 'file-0', chunksOf(bytes), OPTIONS)
    expect(stored).toEqual({ ref: 'acct_1/chatcmpl_1/file-0', bytes: length, mediaType: 'image/png' })
    const found = await openStore(kind).store.open(stored.ref)
    expect((await buffer(found!)).equals(bytes)).toBe(true)
  })

  test('removes the bodies of one call, and no others', async () => {
    const { store, storage } = openStore(kind)
    const other = { ...OWNER, callId: 'chatcmpl_2' }
    const bytes = Buffer.from('bytes')
    await store.put(OWNER, 'file-0', chunksOf(bytes), OPTIONS)
    await store.put(OWNER, 'file-1', chunksOf(bytes), OPTIONS)
    const { ref } = await store.put(other, 'file-0', chunksOf(bytes), OPTIONS)
    await store.remove(OWNER)
    await store.remove(OWNER)
    expect(await store.open('acct_1/chatcmpl_1/file-0')).toBeNull()
    expect(await keysIn(storage)).toEqual([ref])
  })

  test('keeps nothing of a body that is cut off or too long, and stays usable', async () => {
    const { store, storage } = openStore(kind)
    const bytes = randomBytes(7 * MEGABYTE)
    await expect(store.put(OWNER, 'a', cutOff(bytes), OPTIONS)).rejects.toThrow('the client left')
    await expect(
      store.put(OWNER, 'b', chunksOf(bytes), { ...OPTIONS, maxBytes: MEGABYTE }),
    ).rejects.toMatchObject({
      code: 'request_too_large',
    })
    expect(await keysIn(storage)).toEqual([])
    expect(s3.uploads.size).toBe(0)
    await store.put(OWNER, 'a', chunksOf(bytes), OPTIONS)
    expect(await keysIn(storage)).toHaveLength(1)
  })

  test('bounds the bytes of an account and of all, also of other processes, until calls are gone', async () => {
    const put = (
      store: ReturnType<typeof openStore>['store'],
      accountId: string,
      callId: string,
      length: number,
    ) => store.put({ accountId, callId }, 'file', chunksOf(Buffer.alloc(length)), OPTIONS)
    const limits = { bytesPerAccount: MEGABYTE, bytesInAll: 1.5 * MEGABYTE }
    const { store } = openStore(kind, limits)
    const elsewhere = openStore(kind, limits).store
    await put(elsewhere, 'acct_1', 'one', 700_000)
    await expect(put(store, 'acct_1', 'two', 700_000)).rejects.toMatchObject({
      code: 'concurrency_limit_exceeded',
    })
    await put(store, 'acct_2', 'three', 700_000)
    await expect(put(store, 'acct_3', 'four', 700_000)).rejects.toMatchObject({ code: 'overloaded' })
    await elsewhere.remove({ accountId: 'acct_1', callId: 'one' })
    await put(store, 'acct_1', 'five', 700_000)
  })

  test('reserves for an account no more than it leaves for the others', async () => {
    const { store } = openStore(kind, { bytesPerAccount: 10 * MEGABYTE, bytesInAll: 10 * MEGABYTE })
    const room = await store.reserve('acct_1', 5 * MEGABYTE)
    await expect(store.reserve('acct_1', MEGABYTE)).rejects.toMatchObject({ code: 'overloaded' })
    await store.reserve('acct_2', 2 * MEGABYTE)
    room.release()
    await store.reserve('acct_1', 4 * MEGABYTE)
  })

  test('sweeps what is older than any call, and nothing younger', async () => {
    const { ref } = await openStore(kind).store.put(OWNER, 'old', chunksOf(Buffer.from('x')), OPTIONS)
    const nextDay = openStore(kind, {}, () => Date.now() + 86_400_000).store
    await openStore(kind).store.sweep(60_000)
    expect((await nextDay.open(ref))?.destroy()).toBeDefined()
    await nextDay.sweep(60_000)
    expect(await nextDay.open(ref)).toBeNull()
  })

  test('takes no name that could lead elsewhere', async () => {
    const { store } = openStore(kind)
    for (const name of ['../x', 'a/b', '', '.', 'a~b', 'ä']) {
      await expect(store.put(OWNER, name, chunksOf(Buffer.from('x')), OPTIONS)).rejects.toThrow()
      await expect(store.open(`acct_1/${name}/../x`)).rejects.toThrow()
    }
  })

  test('has another body under a reference refused as soon as it is read', async () => {
    const { store, storage } = openStore(kind)
    const { ref } = await store.put(OWNER, 'file', chunksOf(Buffer.from('mine')), OPTIONS)
    const sealed = await buffer((await storage.read(ref))!)
    expect(sealed.includes('mine')).toBe(false)
    await storage.write('acct_2/chatcmpl_2/file', chunksOf(sealed))
    await expect(store.open('acct_2/chatcmpl_2/file').then((body) => buffer(body!))).rejects.toThrow()
  })
})

test('a folder is readable by its owner alone, and rid of what a dead process was writing', async () => {
  const { store } = openStore('folder')
  await store.put(OWNER, 'file', chunksOf(Buffer.from('x')), OPTIONS)
  const path = join(folder, 'bodies')
  const ofCall = join(path, 'acct_1~chatcmpl_1')
  expect(await readdir(path)).toEqual(['acct_1~chatcmpl_1'])
  for (const made of [path, ofCall]) expect((await stat(made)).mode & 0o777).toBe(0o700)
  expect((await stat(join(ofCall, 'file'))).mode & 0o777).toBe(0o600)
  expect((await readFile(join(ofCall, 'file'))).length).toBeGreaterThan(0)
  const half = join(ofCall, 'other.part')
  await writeFile(half, 'half')
  await store.sweep(60_000)
  expect([...(await readdir(path)), ...(await readdir(ofCall))]).toHaveLength(3)
  await utimes(half, 1, 1)
  await store.sweep(60_000)
  expect([...(await readdir(path)), ...(await readdir(ofCall))]).toEqual(['acct_1~chatcmpl_1', 'file'])
})

test('the end of a call reads and removes its own folder, however many others there are', async () => {
  const { store, storage } = openStore('folder')
  await store.put(OWNER, 'file', chunksOf(Buffer.from('x')), OPTIONS)
  const listed: string[] = []
  const list = storage.list
  storage.list = (prefix) => {
    listed.push(prefix)
    return list(prefix)
  }
  await store.remove(OWNER)
  expect(listed).toEqual(['acct_1/chatcmpl_1/'])
  expect(await readdir(join(folder, 'bodies'))).toEqual([])
})

test('while it writes, a store is listed in at most 2 % of the time, and the writer does not wait for it', async () => {
  let nowMs = 1_000
  const { store, storage } = openStore('folder', {}, () => nowMs)
  let listings = 0
  let listed = Promise.resolve()
  storage.list = async function* () {
    listings += 1
    await listed
    nowMs += 1_000
    yield []
  }
  const put = (name: string) => store.put(OWNER, name, chunksOf(Buffer.from('x')), OPTIONS)
  await put('first')
  expect(listings).toBe(1)
  nowMs += 49_000
  await put('second')
  expect(listings).toBe(1)
  nowMs += 1_000
  const { promise, resolve: end } = Promise.withResolvers<void>()
  listed = promise
  await put('third')
  expect(listings).toBe(2)
  end()
})

test('a disk without enough free bytes refuses bodies', async () => {
  const { store } = openStore('folder', { freeBytes: Number.MAX_SAFE_INTEGER })
  await expect(store.put(OWNER, 'file', chunksOf(Buffer.from('x')), OPTIONS)).rejects.toMatchObject({
    code: 'overloaded',
  })
})

test('uploads in parts that a dead process began are aborted once they are old', async () => {
  s3.uploads.set('old', { key: 'sy/acct_1/chatcmpl_1/file', parts: new Map(), initiated: new Date(0) })
  s3.uploads.set('young', { key: 'sy/acct_1/chatcmpl_2/file', parts: new Map(), initiated: new Date() })
  await openStore('bucket').store.sweep(60_000)
  expect([...s3.uploads.keys()]).toEqual(['young'])
})

test('a bucket that fails is a 503, with its reason for the log', async () => {
  const { store } = openStore('bucket')
  await store.put(OWNER, 'before', chunksOf(Buffer.from('x')), OPTIONS)
  s3.fail(true)
  const failure = store.put(OWNER, 'file', chunksOf(Buffer.from('x')), OPTIONS)
  await expect(failure).rejects.toMatchObject({ code: 'overloaded', cause: { name: 'SlowDown' } })
})

test('reserved room of the body store is exclusive, used up by writes, and released', async () => {
  const { store } = openStore('folder', { bytesInAll: 100 * MEGABYTE })
  const full = { code: 'concurrency_limit_exceeded' }
  const room = await store.reserve(OWNER.accountId, 12 * MEGABYTE)
  await expect(store.reserve(OWNER.accountId, 9 * MEGABYTE)).rejects.toMatchObject(full)
  await store.put(OWNER, 'file-0', chunksOf(randomBytes(5 * MEGABYTE)), { ...OPTIONS, room })
  // What was stored was counted already.
  const rest = await store.reserve(OWNER.accountId, 7 * MEGABYTE)
  rest.release()
  await expect(store.reserve(OWNER.accountId, 9 * MEGABYTE)).rejects.toMatchObject(full)
  room.release()
  room.release()
  const next = await store.reserve(OWNER.accountId, 14 * MEGABYTE)
  next.release()
  await store.remove(OWNER)
})
