import { expect, test } from 'vitest'
import { readShippedCatalogs } from '../../../src/catalog/catalog-file.ts'
import type { CatalogDocument } from '../../../src/core/catalog/catalog-document.ts'
import { buildCatalogSnapshot } from '../../../src/core/catalog/catalog-snapshot.ts'
import { describeModel } from '../../../src/core/catalog/model-description.ts'

function build(sources: Array<{ name: string; content: CatalogDocument; updatedAt: number }>) {
  const result = buildCatalogSnapshot(sources, {
    ...{ discountPercent: 5, openWeightsDiscountPercent: 20 },
    ...{ generatedAt: 0, isUsable: () => true },
  })
  if (result.kind === 'problems') throw new Error(result.problems.join('\n'))
  return [...result.snapshot.models.values()]
}

const shipped = build((await readShippedCatalogs(null)) as Parameters<typeof build>[0])

/** A model of the catalog file's form, and what is said of it. */
function describe(fields: Partial<NonNullable<CatalogDocument['models']>[number]>): string {
  const [model] = build([
    {
      name: 'a document',
      updatedAt: 0,
      content: {
        providers: [{ id: 'p', base_url: 'http://p/v1' }],
        models: [
          {
            ...{ id: 'acme/plain', name: 'Plain', vendor: 'acme', context_length: 8_192 },
            list_price: { prompt: '1', completion: '2' },
            offers: [{ provider: 'p', upstream_model: 'm' }],
            ...fields,
          },
        ],
      },
    },
  ])
  return describeModel(model!)
}

test('says only what the catalog knows', () => {
  const plain = describe({ supported_parameters: [] })
  expect(plain).toMatch(/Plain/)
  expect(plain).toMatch(/a chat model/)
  expect(plain).toMatch(/8,192 tokens/)
  expect(plain).toMatch(/\$0\.95 per million input tokens and \$1\.90 per million output tokens/)
  expect(plain).toMatch(/second lowest/)
  expect(plain).not.toMatch(
    /released|open weights|family|parameters|JSON|tools|reason|think|shuts|Cached|output,/,
  )
})

test('says every fact that there is', () => {
  const text = describe({
    ...{ name: 'Qwen3 235B-A22B (latest)', vendor: 'qwen', id: 'qwen/qwen3' },
    ...{ reasoning: true, open_weights: true, released_at: '2026-09-22', deprecated_at: '2027-01-31' },
    ...{ max_output_tokens: 2_048, input_modalities: ['text', 'image', 'audio'] },
    ...{ supported_parameters: ['tools', 'response_format'] },
    list_price: { prompt: '10', completion: '100', cache_read: '1' },
  })
  for (const part of [
    ...['a reasoning model', 'open weights', '22 September 2026', '31 January 2027', '2,048 tokens'],
    ...['235 billion parameters, 22 billion of them active', 'an alias', 'text, images and audio'],
    ...[
      'calls tools',
      'JSON',
      'the highest of five price classes',
      '$8 per million input tokens',
      '$0.80 per million tokens',
    ],
  ])
    expect(text).toContain(part)
})

test.each([
  [
    'only the month of a release that is the first of it',
    { released_at: '2025-12-01' },
    /released in December 2025/,
  ],
  ['no parameters of a mixture', { name: 'Mixtral 8x7B' }, /^(?!.*parameters).*Mixtral family/],
  ['no family that is the name', { name: 'Grok' }, /^(?!.*family)/],
  [
    'that tokens cost nothing',
    { list_price: { prompt: '0', completion: '0' } },
    /Its tokens cost nothing\.$/,
  ],
])('says %s', (_, fields, expected) => {
  expect(describe(fields)).toMatch(expected)
})

test('has a paragraph on each shipped model, in more than one wording', () => {
  const texts = shipped.map(describeModel)
  expect(new Set(texts).size).toBe(texts.length)
  for (const text of texts) {
    expect(text).toMatch(/^[^\s].+\.$/)
    expect(text).not.toMatch(/undefined|null|NaN|\s\s|\.\./)
    expect(text.length).toBeLessThan(700)
  }
  const openings = shipped.map((model) => describeModel(model).replace(model.name, '…').slice(0, 5))
  expect(new Set(openings).size).toBeGreaterThan(10)
})
