import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { createStreamSealer } from '../../../src/platform/body-store/stream-sealer.ts'

const key = randomBytes(32)
const sealer = createStreamSealer([key], 'test')
const CHUNK = 64 * 1024
const SEALED_CHUNK = CHUNK + 16
const HEAD = 24

const seal = (bytes: Buffer, context = 'id') =>
  buffer(Readable.from(sealer.seal(Readable.from([bytes]), context)))
/** In pieces that fit no chunk. */
function pieces(bytes: Buffer, size = 1_000): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  )
}
const open = (sealed: Buffer, context = 'id', by = sealer) =>
  buffer(Readable.from(by.open(Readable.from(pieces(sealed)), context)))

test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 17])(
  '%i bytes open to what they were',
  async (length) => {
    const bytes = randomBytes(length)
    const sealed = await seal(bytes)
    expect(sealed).toHaveLength(HEAD + length + 16 * Math.max(1, Math.ceil(length / CHUNK)))
    expect((await open(sealed)).equals(bytes)).toBe(true)
  },
)

test('no two seals of the same bytes are alike, and none shows them', async () => {
  const bytes = Buffer.from('a secret prompt that nobody may read')
  const [one, other] = [await seal(bytes), await seal(bytes)]
  expect(one.equals(other)).toBe(false)
  expect(one.includes('secret')).toBe(false)
})

describe('what is not what was sealed does not open', () => {
  const bytes = randomBytes(3 * CHUNK + 5)
  const chunk = (sealed: Buffer, index: number) =>
    sealed.subarray(HEAD + index * SEALED_CHUNK, HEAD + (index + 1) * SEALED_CHUNK)
  test.each<[string, (sealed: Buffer) => Buffer]>([
    ['nothing', () => Buffer.alloc(0)],
    ['its head alone', (sealed) => sealed.subarray(0, HEAD)],
    ['cut off between chunks', (sealed) => sealed.subarray(0, HEAD + 2 * SEALED_CHUNK)],
    ['cut off within a chunk', (sealed) => sealed.subarray(0, -1)],
    ['longer', (sealed) => Buffer.concat([sealed, Buffer.alloc(SEALED_CHUNK)])],
    [
      'two chunks swapped',
      (sealed) =>
        Buffer.concat([
          sealed.subarray(0, HEAD),
          chunk(sealed, 1),
          chunk(sealed, 0),
          chunk(sealed, 2),
          chunk(sealed, 3),
        ]),
    ],
    [
      'a chunk dropped',
      (sealed) => Buffer.concat([sealed.subarray(0, HEAD), ...[0, 2, 3].map((at) => chunk(sealed, at))]),
    ],
    [
      'one bit changed',
      (sealed) => {
        const changed = Buffer.from(sealed)
        changed[HEAD + 9]! ^= 1
        return changed
      },
    ],
    [
      'another salt',
      (sealed) => {
        const changed = Buffer.from(sealed)
        changed[HEAD - 1]! ^= 1
        return changed
      },
    ],
  ])('%s', async (_, damage) => {
    await expect(open(damage(await seal(bytes)))).rejects.toThrow()
  })
})

test('it opens for its context, its purpose and its master key only, also once that is the previous one', async () => {
  const sealed = await seal(Buffer.from('text'))
  await expect(open(sealed, 'other')).rejects.toThrow()
  await expect(open(sealed, 'id', createStreamSealer([key], 'another'))).rejects.toThrow()
  await expect(open(sealed, 'id', createStreamSealer([randomBytes(32)], 'test'))).rejects.toThrow(
    /not configured/,
  )
  const rotated = createStreamSealer([randomBytes(32), key], 'test')
  expect((await open(sealed, 'id', rotated)).toString()).toBe('text')
})
