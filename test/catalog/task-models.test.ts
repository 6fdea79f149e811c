import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type ImageContent, image } from '../../src/core/calls/kinds/image.ts'
import { builtCatalog } from '../helpers/built-catalog.ts'

const contentOf = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../src/catalog/data/${name}.json`, import.meta.url), 'utf8'))

const { models } = builtCatalog([contentOf('builtin'), contentOf('task-models')])

/** USD of the list price of so many units. */
const listed = (id: string, units: number) => (Number(models.get(id)!.listPrice.units) * units) / 1e12

/** What an image of this quality and size demands of a model. */
function imageNeeds({ quality, size }: { quality?: string | undefined; size?: string | undefined }) {
  const content: ImageContent = {
    kind: 'image',
    prompt: 'A cat',
    count: 1,
    sources: [],
    ...(quality && { quality }),
    ...(size && { size }),
  }
  return image.needs(content).result!
}

describe('the shipped models of other kinds', () => {
  test('are all for sale with all keys, at a price of something', () => {
    const others = [...models.values()].filter(({ kind }) => kind !== 'chat')
    expect(others.length).toBeGreaterThanOrEqual(32)
    for (const { id, kind, unit, offers, listPrice } of others) {
      expect(
        offers.some(({ shared }) => shared),
        id,
      ).toBe(true)
      if (kind === 'moderation') continue
      expect(listPrice.prompt + (listPrice.units ?? 0n), id).toBeGreaterThan(0n)
      expect(unit !== undefined, id).toBe(listPrice.units !== undefined)
    }
  })

  // As the makers and hosts publish them: an image, 1,000 characters, a minute.
  test.each([
    ['gpt-image-2', 'low', '1024x1024', 0.006],
    ['gpt-image-2', 'medium', '1024x1024', 0.053],
    ['gpt-image-2', 'high', '1024x1024', 0.211],
    ['gpt-image-2', 'high', '1536x1024', 0.165],
    ['gpt-image-2.5-flare', 'max', '1024x1024', 0.211],
    ['gpt-image-2.5-sunburst', 'auto', 'auto', 0.013],
    ['black-forest-labs/flux.1-schnell', undefined, undefined, 0.001],
  ])('price an image of %s, %s at %s, at %d USD', (id, quality, size, usd) => {
    const { unitsBound } = imageNeeds({ quality, size })
    expect(listed(id, unitsBound(models.get(id)!))).toBeCloseTo(usd, 3)
  })

  test.each([
    ['tts-1', 1_000, 0.015],
    ['tts-1-hd', 1_000, 0.03],
    ['whisper-1', 60, 0.006],
    ['whisper-large-v3', 3_600, 0.111],
    ['whisper-large-v3-turbo', 3_600, 0.04],
  ])('price %s, %i units, at %d USD', (id, units, usd) => {
    expect(listed(id, units)).toBeCloseTo(usd, 4)
  })

  test('make no image that has no price', () => {
    expect(imageNeeds({ size: '4096x4096' }).isDoneBy!(models.get('gpt-image-2')!)).toBe(false)
  })

  test('say which take images, and which translate', () => {
    const having = (test: (id: string) => boolean | undefined) => [...models.keys()].filter(test)
    const takes = (id: string) =>
      models.get(id)!.kind === 'image' && models.get(id)!.inputModalities.includes('image')
    expect(having(takes)).toEqual([
      'gpt-image-2.5-sunburst',
      'gpt-image-2.5-sunburst-2026-09-08',
      'gpt-image-2.5-flare',
      'gpt-image-2.5-flare-2026-09-08',
      'gpt-image-2',
      'gpt-image-2-2026-04-21',
    ])
    const translates = (id: string) => models.get(id)!.supportedParameters.includes('translations')
    expect(having(translates)).toEqual(['whisper-1', 'whisper-large-v3'])
  })
})
