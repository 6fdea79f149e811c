import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseCatalogDocument } from '../../src/core/catalog-document.ts'
import { IMPORTED_PROVIDERS } from '../../src/dev/catalog-import/provider-table.ts'

const providers = IMPORTED_PROVIDERS.map(({ provider }) => provider)

test('the table is a valid catalog of 25 providers or more, each with a key of its own and a safe address', () => {
  expect(parseCatalogDocument({ providers }).kind).toBe('document')
  expect(providers.length).toBeGreaterThanOrEqual(25)
  expect(new Set(providers.map((provider) => provider.api_key_env)).size).toBe(providers.length)
  for (const { base_url: url } of providers) expect(url).toMatch(/^https:\/\/.*[^/]$/)
})

test('nothing is claimed about how they treat data', () => {
  expect(providers.filter(({ zdr, data_collection: data }) => zdr || data === 'deny')).toEqual([])
})

test('the documentation names each with its key', () => {
  const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8')
  for (const { id, api_key_env: key } of providers) expect(page).toContain(`\`${id}\` | \`${key}\``)
})
