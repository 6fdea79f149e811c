import { expect, test } from 'vitest'
import { publishedQuality, qualityByKind } from '../../../src/http/account/published-quality.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'

const figure = { value: 0.7, standard_error: 0.02, source: 'A benchmark 2026-06-25', date: '2026-06-25' }
const model = (id: string, fields: object = {}) => ({
  ...{ id, vendor: 'acme', context_length: 128_000, list_price: { prompt: '1', completion: '4' } },
  offers: [{ provider: 'acme', upstream_model: id }],
  ...fields,
})
const catalog = builtCatalog([
  {
    providers: [{ id: 'acme', base_url: 'https://acme.example/v1' }],
    models: [
      model('acme/sun-1', { quality: { other: figure } }),
      model('acme/sun-2'),
      model('acme/moon-1'),
      model('acme/star-1', { auto: false, quality: { code: figure } }),
    ],
  },
])
const qualityOf = (id: string) => publishedQuality(catalog, catalog.models.get(id)!, 'other')

test('a measured quality names its source, and lies within its error of what was published', () => {
  const quality = qualityOf('acme/sun-1')!
  expect(quality).toMatchObject({ basis: 'measured', source: figure.source })
  expect(Math.abs(quality.value - figure.value)).toBeLessThan(figure.standard_error)
})

test('a successor without figures has an estimate of a wider error, and says so', () => {
  const [before, after] = [qualityOf('acme/sun-1')!, qualityOf('acme/sun-2')!]
  expect(after).toMatchObject({ basis: 'line', source: null })
  expect(after.value).toBeLessThan(before.value)
  expect(after.standard_error).toBeGreaterThan(before.standard_error)
})

test('no quality is made of the price or the maker of a model', () => {
  expect(qualityOf('acme/moon-1')).toBeNull()
  expect(qualityByKind(catalog, catalog.models.get('acme/moon-1')!)).toEqual([])
})

test('a model that auto does not use has its figures as they were published, and no others', () => {
  expect(qualityByKind(catalog, catalog.models.get('acme/star-1')!)).toEqual([
    { kind: 'code', value: 0.7, standard_error: 0.02, basis: 'measured', source: figure.source },
  ])
})
