import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { simulatedCatalog, withStandIns } from '../../../src/catalog/simulated-catalog.ts'
import type { CatalogDocument, DocumentModel } from '../../../src/core/catalog/catalog-document.ts'
import { parseBehaviour } from '../../../tools/simulated-providers/behaviour.ts'
import { imageTokens } from '../../../tools/simulated-providers/tasks/image-tokens.ts'

const shipped = ['builtin', 'task-models'].map(
  (name) =>
    JSON.parse(
      readFileSync(new URL(`../../../src/catalog/data/${name}.json`, import.meta.url), 'utf8'),
    ) as CatalogDocument,
)
const simulated = simulatedCatalog('http://simulated')
const isSimulated = new Set(simulated.providers!.map(({ id }) => id))

/** Every model that the simulated providers serve, with what they are asked for. */
const served = [...shipped.map(withStandIns), simulated].flatMap(({ models = [] }) =>
  models.map((model) => ({
    model,
    behaviours: model.offers
      .filter(({ provider }) => isSimulated.has(provider))
      .map(({ upstream_model: name }) => parseBehaviour(name)),
  })),
)

test('every model has simulated offers whose behaviour is known', () => {
  for (const { model, behaviours } of served) {
    expect(behaviours.length, model.id).toBeGreaterThan(0)
    expect(behaviours, model.id).not.toContain(null)
  }
})

test('a simulated image takes the tokens that the catalog states', () => {
  const priced = served.filter(({ model }) => model.unit === 'image_token')
  expect(priced.length).toBeGreaterThan(6)
  for (const { model, behaviours } of priced) {
    for (const behaviour of behaviours) {
      const qualities = behaviour!.imageQualities!
      const reported = Object.keys(model.image_units!).map((key) => [key, tokensOf(key, qualities)])
      expect(Object.fromEntries(reported), model.id).toEqual(model.image_units)
    }
  }
})

function tokensOf(key: keyof NonNullable<DocumentModel['image_units']>, qualities: 3 | 5): number | null {
  const [quality = '', size = ''] = String(key).split('/')
  const [width = 0, height = 0] = size.split('x').map(Number)
  return imageTokens(qualities, quality, { width, height })
}
