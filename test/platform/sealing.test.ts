import { createCipheriv, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createSealer, deriveKey, masterKeyId, sealedPrefix, textOfBox } from '../../src/platform/sealing.ts'

const before = randomBytes(32)
const after = randomBytes(32)

/** As boxes were made before they named a day: under the key of their purpose `a`. */
function sealedBeforeDays(text: string, context: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(before, 'a'), nonce).setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

describe('the sealer', () => {
  test('opens what it sealed, never the same way twice, and shows nothing of it', () => {
    const sealer = createSealer([before], 'a')
    const boxes = [sealer.seal('sk-secret', 'id'), sealer.seal('sk-secret', 'id')]
    expect(boxes[0]).not.toBe(boxes[1])
    for (const box of boxes) {
      expect(sealer.open(box, 'id')).toBe('sk-secret')
      expect(Buffer.from(box.split('.')[2]!, 'base64').toString()).not.toContain('secret')
    }
  })

  test('opens bytes that it sealed, also once they are written as text', async () => {
    const sealer = createSealer([before], 'a')
    const box = sealer.sealBytes('sk-secret', 'id')
    expect(sealer.openBytes(box, 'id').toString()).toBe('sk-secret')
    expect(sealer.open(textOfBox(box), 'id')).toBe('sk-secret')
  })

  test('opens nothing for another context, another purpose, or after a change of one bit', () => {
    const sealer = createSealer([before], 'a')
    const box = sealer.seal('text', 'acct_1/pkey_1')
    const bytes = Buffer.from(box.split('.')[2]!, 'base64')
    bytes[14]! ^= 1
    expect(() => sealer.open(box, 'acct_2/pkey_1')).toThrow()
    expect(() => createSealer([before], 'b').open(box, 'acct_1/pkey_1')).toThrow()
    const altered = [...box.split('.').slice(0, 2), bytes.toString('base64')].join('.')
    expect(() => sealer.open(altered, 'acct_1/pkey_1')).toThrow()
  })

  test('opens what another of its master keys sealed, and seals under the first', () => {
    const old = createSealer([before], 'a').seal('text', 'id')
    const rotated = createSealer([after, before], 'a')
    expect(rotated.open(old, 'id')).toBe('text')
    const fresh = rotated.seal('text', 'id')
    expect(fresh.startsWith(sealedPrefix([after, before]))).toBe(true)
    expect(createSealer([after], 'a').open(fresh, 'id')).toBe('text')
    expect(() => createSealer([after], 'a').open(old, 'id')).toThrow('not configured')
  })

  test('seals under another key each day, and opens what any day sealed', () => {
    let nowMs = Date.UTC(2027, 0, 1, 23, 59, 59)
    const sealer = createSealer([before], 'a', () => nowMs)
    const first = sealer.seal('text', 'id')
    nowMs += 1_000
    const second = sealer.seal('text', 'id')
    const [days, boxes] = [first, second]
      .map((box) => box.split('.'))
      .reduce<[number[], string[]]>(
        ([days, boxes], [, day, sealed]) => [
          [...days, Number(day)],
          [...boxes, sealed!],
        ],
        [[], []],
      )
    expect(days[1]).toBe(days[0]! + 1)
    expect([first, second].map((box) => createSealer([before], 'a').open(box, 'id'))).toEqual([
      'text',
      'text',
    ])
    const moved = `${masterKeyId(before)}.${days[1]}.${boxes[0]}`
    expect(() => sealer.open(moved, 'id')).toThrow()
  })

  test("opens boxes from before keys were a day's", () => {
    const old = `${masterKeyId(before)}.${sealedBeforeDays('text', 'id')}`
    expect(createSealer([after, before], 'a').open(old, 'id')).toBe('text')
    expect(() => createSealer([before], 'b').open(old, 'id')).toThrow()
  })

  test('seals into bytes as into text', async () => {
    const sealer = createSealer([before], 'a')
    const box = await sealer.sealLater('a longer téxt', 'id')
    expect(box.includes('longer')).toBe(false)
    expect(createSealer([after, before], 'a').openBytes(box, 'id').toString()).toBe('a longer téxt')
    expect(() => sealer.openBytes(box, 'other')).toThrow()
    expect(() => createSealer([after], 'a').openBytes(box, 'id')).toThrow('not configured')
  })

  test('opens boxes from before they named their master key, whichever of its keys that was', () => {
    const unnamed = sealedBeforeDays('text', 'id')
    expect(createSealer([after, before], 'a').open(unnamed, 'id')).toBe('text')
    expect(createSealer([before, after], 'a').open(unnamed, 'id')).toBe('text')
    expect(() => createSealer([after], 'a').open(unnamed, 'id')).toThrow()
  })
})
