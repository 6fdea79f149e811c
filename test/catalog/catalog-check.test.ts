import { expect, test } from 'vitest'
import { checkCatalog } from '../../src/catalog/catalog-check.ts'
import { exampleDocument } from './example-document.ts'

const OPTIONS = {
  discountPercent: 5,
  openWeightsDiscountPercent: 20,
  generatedAt: 1_700_000_000,
  isUsable: () => true,
}
const below = [{ name: 'file.json', content: exampleDocument(), updatedAt: 1_600_000_000 }]
const source = (content: object) => ({ name: 'the document', content, updatedAt: 1_700_000_000 })
const check = (fields: object) =>
  checkCatalog(below, source({ changes: { models: [{ id: 'acme/large-1', ...fields }] } }), OPTIONS, [])

test('edits that set a rate above the ceiling of the list price in force are refused', () => {
  expect(check({ rate: { prompt: '1.90', completion: '7.60' } })).toMatchObject({ kind: 'valid' })
  expect(check({ rate: { prompt: '1.95', completion: '7.60' } })).toEqual({
    kind: 'problems',
    problems: [
      'the document: acme/large-1: rate.prompt: 1.95 is not 5 % below the list price 2.00; the highest rate is 1.90',
    ],
  })
})

test('a rate that was too high before does not stand in the way of other edits', () => {
  const drifted = [
    ...below,
    {
      name: 'edits',
      content: {
        changes: { models: [{ id: 'acme/large-1', rate: { prompt: '1.90', completion: '7.60' } }] },
      },
      updatedAt: 1,
    },
    {
      name: 'prices',
      content: {
        changes: { models: [{ id: 'acme/large-1', list_price: { prompt: '1', completion: '8' } }] },
      },
      updatedAt: 2,
    },
  ]
  expect(
    checkCatalog(
      drifted,
      source({ changes: { models: [{ id: 'acme/large-1', auto: false }] } }),
      OPTIONS,
      [],
    ),
  ).toMatchObject({ kind: 'valid' })
})

test('edits send a key only where the catalog below sends it, unless the operator declared its name', () => {
  const provider = (fields: object) => ({
    providers: [{ id: 'mine', base_url: 'https://elsewhere.example/v1', ...fields }],
    changes: {},
    models: [
      {
        ...exampleDocument().models[0],
        id: 'mine/one',
        offers: [{ provider: 'mine', upstream_model: 'one' }],
      },
    ],
  })
  const result = (fields: object, names: string[] | 'any' = []) =>
    checkCatalog(below, source(provider(fields)), OPTIONS, names)
  expect(result({})).toMatchObject({ kind: 'valid' })
  expect(result({ api_key_env: 'ACME_API_KEY' })).toEqual({
    kind: 'problems',
    problems: [expect.stringContaining('may not send ACME_API_KEY to https://elsewhere.example')],
  })
  expect(result({ api_key_env: 'OTHER_API_KEY' })).toMatchObject({ kind: 'problems' })
  expect(result({ api_key_env: 'OTHER_API_KEY' }, ['OTHER_API_KEY'])).toMatchObject({ kind: 'valid' })
  expect(result({ api_key_env: 'OTHER_API_KEY' }, 'any')).toMatchObject({ kind: 'valid' })
  const { origin } = new URL(exampleDocument().providers[0]!.base_url)
  expect(result({ api_key_env: 'ACME_API_KEY', base_url: `${origin}/other` })).toMatchObject({
    kind: 'valid',
  })
})
