import { expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import { isProviderKeyName } from '../../../src/core/accounts/provider-key-names.ts'
import { parseCatalogDocument } from '../../../src/core/catalog/parse-catalog-document.ts'
import { exampleDocument } from '../../catalog/example-document.ts'

/** Every variable that the configuration looks at. */
function configurationNames(): string[] {
  const read = new Set<string>()
  const environment = new Proxy({} as Record<string, string | undefined>, {
    get(_target, name) {
      read.add(String(name))
      return undefined
    },
  })
  expect(() => readConfig(environment)).toThrow()
  return [...read]
}

test('no variable that the configuration reads can be named as the key of a provider', () => {
  const names = configurationNames()
  expect(names).toEqual(expect.arrayContaining(['MASTER_KEY', 'DATABASE_URL', 'STRIPE_SECRET_KEY']))
  expect(names.filter(isProviderKeyName)).toEqual([])
  for (const name of ['OPENAI_API_KEY', 'HF_TOKEN', 'ACME_KEY']) expect(isProviderKeyName(name)).toBe(true)
})

test('a document that names one is refused', () => {
  const [provider] = exampleDocument().providers
  const document = { ...exampleDocument(), providers: [{ ...provider, api_key_env: 'MASTER_KEY' }] }
  expect(parseCatalogDocument(document)).toEqual({
    kind: 'problems',
    problems: [expect.stringMatching(/^providers\[0\]\.api_key_env: /)],
  })
})
