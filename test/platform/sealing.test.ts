import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createSealer, sealedPrefix } from '../../src/platform/sealing.ts'

const before = randomBytes(32)
const after = randomBytes(32)

describe('the sealer', () => {
  it('opens what it sealed, never the same way twice, and shows nothing of it', () => {
    const sealer = createSealer([before], 'a')
    const boxes = [sealer.seal('sk-secret', 'id'), sealer.seal('sk-secret', 'id')]
    expect(boxes[0]).not.toBe(boxes[1])
    for (const box of boxes) {
      expect(sealer.open(box, 'id')).toBe('sk-secret')
      expect(Buffer.from(box.slice(box.indexOf('.') + 1), 'base64').toString()).not.toContain('secret')
    }
  })

  it('opens nothing for another context, another purpose, or after a change of one bit', () => {
    const sealer = createSealer([before], 'a')
    const box = sealer.seal('text', 'acct_1/pkey_1')
    const bytes = Buffer.from(box.split('.')[1]!, 'base64')
    bytes[14]! ^= 1
    expect(() => sealer.open(box, 'acct_2/pkey_1')).toThrow()
    expect(() => createSealer([before], 'b').open(box, 'acct_1/pkey_1')).toThrow()
    expect(() => sealer.open(sealedPrefix([before]) + bytes.toString('base64'), 'acct_1/pkey_1')).toThrow()
  })

  it('opens what another of its master keys sealed, and seals under the first', () => {
    const old = createSealer([before], 'a').seal('text', 'id')
    const rotated = createSealer([after, before], 'a')
    expect(rotated.open(old, 'id')).toBe('text')
    const fresh = rotated.seal('text', 'id')
    expect(fresh.startsWith(sealedPrefix([after, before]))).toBe(true)
    expect(createSealer([after], 'a').open(fresh, 'id')).toBe('text')
    expect(() => createSealer([after], 'a').open(old, 'id')).toThrow('not configured')
  })

  it('opens boxes from before they named their master key, whichever of its keys that was', () => {
    const unnamed = createSealer([before], 'a').seal('text', 'id').split('.')[1]!
    expect(createSealer([after, before], 'a').open(unnamed, 'id')).toBe('text')
    expect(createSealer([before, after], 'a').open(unnamed, 'id')).toBe('text')
    expect(() => createSealer([after], 'a').open(unnamed, 'id')).toThrow()
  })
})
