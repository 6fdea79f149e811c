import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ImageDetail, MediaPart } from '../../src/core/calls/content-part.ts'
import { audioLength } from '../../src/core/media/audio-length.ts'
import { imageSize } from '../../src/core/media/image-size.ts'
import { mediaRules } from '../../src/core/media/media-rules.ts'
import { mediaTokens, sumOfTokens } from '../../src/core/media/media-tokens.ts'
import { contentParts, pngUrl } from '../helpers/content-parts.ts'

const WINDOW = 1_000_000
/** What stands around a part. */
const PART = 12

const bound = (id: string, vendor: string, parts: MediaPart[], window = WINDOW) =>
  sumOfTokens(mediaTokens(parts, mediaRules(id, vendor), window).bound)

const media = (...parts: unknown[]) => contentParts(...parts) as MediaPart[]
const png = (width: number, height: number, detail?: ImageDetail) =>
  media({ type: 'image_url', image_url: { url: pngUrl(width, height), ...(detail && { detail }) } })
const remote = media({ type: 'image_url', image_url: { url: 'https://images.example/cat.png' } })

describe('an image is bounded by what its model makes of its size', () => {
  test.each<[string, string, number, number, ImageDetail | undefined, number]>([
    ['gpt-4o-mini', 'openai', 1_024, 1_024, 'high', 25_501],
    ['gpt-4o-mini', 'openai', 128, 64, undefined, 8_500],
    ['gpt-4o-mini', 'openai', 1_024, 1_024, 'low', 2_833],
    ['gpt-4o', 'openai', 1_024, 1_024, 'high', 765],
    ['gpt-4o-2024-08-06', 'openai', 2_048, 4_096, 'auto', 1_105],
    ['gpt-4o', 'openai', 4_096, 4_096, 'low', 85],
    ['gpt-4.1-mini', 'openai', 1_024, 1_024, undefined, 1_659],
    ['o4-mini', 'openai', 8_000, 8_000, 'low', 2_642],
    ['o3', 'openai', 128, 64, undefined, 225],
    ['gpt-5', 'openai', 128, 64, undefined, 210],
    ['gpt-5-nano', 'openai', 8_000, 8_000, undefined, 3_779],
    ['anthropic/claude-sonnet-4.5', 'anthropic', 8_000, 8_000, undefined, 1_600],
    ['anthropic/claude-opus-4.7', 'anthropic', 8_000, 8_000, undefined, 4_800],
    ['google/gemini-2.5-flash', 'google', 384, 384, undefined, 258],
    ['google/gemini-2.5-flash', 'google', 960, 540, undefined, 1_548],
    ['google/gemini-3.5-flash', 'google', 4_000, 4_000, undefined, 1_120],
  ])('%s (%s), %i × %i at detail %s: %i', (id, vendor, width, height, detail, tokens) => {
    expect(bound(id, vendor, png(width, height, detail))).toBe(tokens + PART)
  })

  test('one at an address counts the most that its model makes of any, and so does one without a size', () => {
    expect(bound('gpt-4o-mini', 'openai', remote)).toBe(2_833 + 8 * 5_667 + PART)
    const broken = media({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } })
    expect(bound('x/unheard-of', 'x', broken)).toBe(bound('x/unheard-of', 'x', remote))
  })

  test("never below an independent statement of the makers' formulas, whatever the size", () => {
    const side = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 1_100 }))
    fc.assert(
      fc.property(
        side,
        side,
        fc.constantFrom<ImageDetail>('auto', 'low', 'high'),
        (width, height, detail) => {
          for (const [id, vendor, formula] of FORMULAS) {
            const tokens = formula(width, height, detail)
            expect([id, bound(id, vendor, png(width, height, detail))]).toSatisfy(
              ([, held]: [string, number]) => held >= tokens,
            )
            expect(bound(id, vendor, remote)).toBeGreaterThanOrEqual(tokens)
          }
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

type Formula = (width: number, height: number, detail: ImageDetail) => number

/** The makers' documentation, step by step; docs/catalog.md has the sources. */
const tiled =
  (base: number, tile: number): Formula =>
  (width, height, detail) => {
    if (detail === 'low') return base
    let [w, h] = [width, height]
    if (w > 2_048 || h > 2_048) {
      const ratio = 2_048 / Math.max(w, h)
      ;[w, h] = [Math.round(w * ratio), Math.round(h * ratio)]
    }
    if (Math.min(w, h) > 768) {
      const ratio = 768 / Math.min(w, h)
      ;[w, h] = [Math.round(w * ratio), Math.round(h * ratio)]
    }
    let tiles = 0
    for (let x = 0; x < Math.max(1, w); x += 512) for (let y = 0; y < Math.max(1, h); y += 512) tiles++
    return base + tiles * tile
  }
const patched =
  (multiplier: number, budget: number): Formula =>
  (width, height) => {
    const patches = Math.ceil(width / 32) * Math.ceil(height / 32)
    if (patches <= budget) return patches * multiplier
    let ratio = Math.sqrt((32 * 32 * budget) / (width * height))
    const [w, h] = [(width * ratio) / 32, (height * ratio) / 32]
    ratio *= Math.min(Math.floor(w) / w, Math.floor(h) / h) || 1
    return Math.min(budget, Math.ceil((width * ratio) / 32) * Math.ceil((height * ratio) / 32)) * multiplier
  }
const claude =
  (edge: number, budget: number): Formula =>
  (width, height) => {
    const ratio = Math.min(1, edge / Math.max(width, height))
    const [w, h] = [Math.floor(width * ratio), Math.floor(height * ratio)]
    return Math.min(budget, Math.max((w * h) / 750, Math.ceil(w / 28) * Math.ceil(h / 28)))
  }
const cropped: Formula = (width, height) =>
  width <= 384 && height <= 384 ? 258 : Math.min(16, Math.ceil(width / 768) * Math.ceil(height / 768)) * 258

const FORMULAS: ReadonlyArray<readonly [string, string, Formula]> = [
  ['gpt-4o', 'openai', tiled(85, 170)],
  ['gpt-4o-mini', 'openai', tiled(2_833, 5_667)],
  ['gpt-4.1', 'openai', tiled(85, 170)],
  ['o1', 'openai', tiled(75, 150)],
  ['o3', 'openai', tiled(75, 150)],
  ['gpt-5', 'openai', tiled(70, 140)],
  ['gpt-5.1', 'openai', tiled(70, 140)],
  ['gpt-4.1-mini', 'openai', patched(1.62, 1_536)],
  ['gpt-4.1-nano', 'openai', patched(2.46, 1_536)],
  ['o4-mini', 'openai', patched(1.72, 1_536)],
  ['gpt-5-mini', 'openai', patched(1.62, 1_536)],
  ['gpt-5-nano', 'openai', patched(2.46, 1_536)],
  ['gpt-5.2', 'openai', patched(1.2, 10_000)],
  ['gpt-5.4-mini', 'openai', patched(1.62, 1_536)],
  ['gpt-5.4-nano', 'openai', patched(2.46, 1_536)],
  ['gpt-5.6', 'openai', patched(1.2, 10_000)],
  ['anthropic/claude-haiku-4.5', 'anthropic', claude(1_568, 1_568)],
  ['anthropic/claude-3.5-sonnet', 'anthropic', claude(1_568, 1_600)],
  ['anthropic/claude-opus-4.7', 'anthropic', claude(2_576, 4_784)],
  ['anthropic/claude-sonnet-5', 'anthropic', claude(2_576, 4_784)],
  ['google/gemini-2.5-pro', 'google', cropped],
  ['google/gemini-3.1-pro-preview', 'google', () => 1_120],
  ['meta-llama/llama-3.2-90b', 'meta-llama', () => 4 * 1_601],
  ['qwen/qwen3-vl-plus', 'qwen', (w, h) => Math.min(16_384, Math.ceil(w / 28) * Math.ceil(h / 28))],
  ['x-ai/grok-4.3', 'x-ai', (w, h) => 256 * (1 + Math.min(6, Math.ceil(w / 448) * Math.ceil(h / 448)))],
  ['mistralai/pixtral-12b', 'mistralai', (w, h) => Math.min(4_160, Math.ceil(w / 16) * Math.ceil(h / 16))],
]

describe('documents, audio and video', () => {
  const file = media({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } })
  const video = media({ type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } })
  const audio = (data: Buffer, format = 'wav') =>
    media({ type: 'input_audio', input_audio: { data: data.toString('base64'), format } })

  test('a document and a video may fill the window, where no figure says less', () => {
    expect(mediaTokens(file, mediaRules('gpt-4o', 'openai'), 128_000).bound).toEqual({ file: 128_000 })
    expect(bound('anthropic/claude-sonnet-5', 'anthropic', video)).toBe(WINDOW)
    expect(bound('google/gemini-2.5-flash', 'google', file)).toBe(258_000 + PART)
    const stated = mediaRules('x/y', 'x', { document_tokens: 5_000, video_tokens: 7_000 })
    expect(mediaTokens([...file, ...video], stated, WINDOW).bound).toEqual({
      file: 5_000 + PART,
      video: 7_000 + PART,
    })
  })

  test('an estimate never exceeds its bound', () => {
    const parts = [...file, ...video, ...remote, ...audio(Buffer.alloc(9_000))]
    for (const window of [10, 1_000, WINDOW]) {
      const tokens = mediaTokens(parts, mediaRules('gpt-4o', 'openai'), window)
      expect(Object.keys(tokens.likely)).toEqual(Object.keys(tokens.bound))
      for (const type of ['file', 'video', 'audio'] as const) {
        expect(tokens.likely[type]).toBeLessThanOrEqual(tokens.bound[type]!)
        expect(tokens.bound[type]).toBeLessThanOrEqual(window)
      }
    }
  })

  test('audio counts its seconds: exactly where its header says them, at the lowest bitrate where not', () => {
    expect(bound('google/gemini-2.5-flash', 'google', audio(wav(10)))).toBe(11 * 32 + PART)
    const mp3 = Buffer.alloc(20_000)
    mp3.writeUInt16BE(0xfffb, 0)
    mp3[2] = 0x90
    expect(audioLength(mp3.toString('base64'))).toEqual({ most: 21, likely: 3 })
    expect(
      audioLength(Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(20_000)]).toString('base64')).most,
    ).toBe(10_002)
  })

  test('a file that is called WAV and is none counts as what may be within', () => {
    const { most } = audioLength(Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(3_000)]).toString('base64'))
    expect(most).toBeGreaterThan(1_000)
  })
})

/** One channel of 16 bits at 8 kHz. */
function wav(seconds: number): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt16LE(16, 34)
  return Buffer.concat([head, Buffer.alloc(seconds * 16_000)])
}

describe('the size of an image', () => {
  const sizeOf = (...bytes: Array<Buffer | string | number[]>) => {
    const all = bytes.map((one) => (typeof one === 'string' ? Buffer.from(one, 'latin1') : Buffer.from(one)))
    return imageSize(Buffer.concat([...all, Buffer.alloc(32)]).toString('base64'))
  }
  const le = (value: number) => [value & 0xff, value >> 8]
  const be = (value: number) => [value >> 8, value & 0xff]

  test('is read from PNG, JPEG, GIF and WebP', () => {
    expect(imageSize(pngUrl(1_234, 567).split(',')[1]!)).toEqual({ width: 1_234, height: 567 })
    const exif = [0xff, 0xe1, ...be(70_000 & 0xffff), ...Buffer.alloc((70_000 & 0xffff) - 2, 0xff)]
    expect(sizeOf([0xff, 0xd8], exif, [0xff, 0xc2, 0, 17, 8, ...be(480), ...be(640)])).toEqual({
      width: 640,
      height: 480,
    })
    expect(sizeOf('RIFF....WEBPVP8 ....', Buffer.alloc(6), le(300), le(200))).toEqual({
      width: 300,
      height: 200,
    })
    expect(sizeOf('RIFF....WEBPVP8X........', [43, 1, 0], [199, 0, 0])).toEqual({ width: 300, height: 200 })
    expect(sizeOf('RIFF....WEBPVP8L....', [0x2f, 0x2b, 0xc1, 0x31, 0])).toEqual({ width: 300, height: 200 })
  })

  test('of a GIF is that of its first frame where the screen is smaller', () => {
    const head = ['GIF89a', le(10), le(10), Buffer.alloc(3)]
    const comment = [0x21, 0xfe, 2, 65, 66, 0]
    const frame = [0x2c, ...le(0), ...le(0), ...le(4_000), ...le(3_000), 0]
    expect(sizeOf(...head, comment, frame)).toEqual({ width: 4_000, height: 3_000 })
  })

  test('is unknown where there is none, without an endless walk', () => {
    expect(imageSize('')).toBeNull()
    expect(imageSize('AAAA')).toBeNull()
    expect(sizeOf([0xff, 0xd8, 0xff, 0xff])).toBeNull()
    expect(sizeOf('GIF89a', Buffer.alloc(7), [0x21, 0xff])).toBeNull()
    expect(imageSize(pngUrl(0, 5).split(',')[1]!)).toBeNull()
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom('', 'GIF89a', '\xff\xd8'),
        (bytes, start) => {
          const size = sizeOf(start, Buffer.from(bytes))
          if (size) expect(size.width * size.height).toBeGreaterThan(0)
        },
      ),
    )
  })
})
