import { expect, test } from 'vitest'
import { SURFACES } from '../../src/core/api/surfaces/surface-registry.ts'
import { MODEL_KINDS } from '../../src/core/catalog/catalog.ts'
import { exampleRequest } from '../../web/lib/models/model-example.ts'

const paths = SURFACES.map(({ path }) => path)

test.each(MODEL_KINDS.filter((kind) => kind !== 'chat'))(
  'a model for %s is asked at its own surface',
  (kind) => {
    const { path, body, form } = exampleRequest({ id: 'acme/one', kind }, 'https://gateway.example')!
    expect(paths).toContain(path)
    expect(JSON.stringify(body ?? form)).toContain('"acme/one"')
  },
)

test('chat models have their own examples', () => {
  expect(exampleRequest({ id: 'acme/one' }, 'https://gateway.example')).toBeNull()
})
