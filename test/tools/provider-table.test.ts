import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseCatalogDocument } from '../../src/core/catalog/parse-catalog-document.ts'
import { IMPORTED_PROVIDERS } from '../../tools/catalog-import/provider-table.ts'

const providers = IMPORTED_PROVIDERS.map(({ provider }) => provider)

test('the table is a valid catalog of 25 providers or more, each with a key of its own and a safe address', () => {
  expect(parseCatalogDocument({ providers }).kind).toBe('document')
  expect(providers.length).toBeGreaterThanOrEqual(25)
  expect(new Set(providers.map((provider) => provider.api_key_env)).size).toBe(providers.length)
  for (const { base_url: url } of providers) expect(url).toMatch(/^https:\/\/.*[^/]$/)
})

test('only providers whose published terms are cited are marked as keeping nothing', () => {
  const page = readFileSync(new URL('../../docs/catalog.md', import.meta.url), 'utf8')
  const marked = providers.filter(({ zdr, data_collection: data }) => zdr || data === 'deny')
  expect(marked.map(({ id }) => id)).toEqual(['ovhcloud'])
  for (const { id, zdr, data_collection: data } of marked) {
    expect({ zdr, data }).toEqual({ zdr: true, data: 'deny' })
    expect(page).toMatch(new RegExp(`\\| \`${id}\` \\| .*https://.*\\| 20\\d\\d-\\d\\d-\\d\\d \\|`))
  }
})

test('the shipped catalog has the providers of the table', () => {
  const shipped = readFileSync(new URL('../../src/catalog/data/builtin.json', import.meta.url), 'utf8')
  expect(JSON.parse(shipped).providers).toEqual(JSON.parse(JSON.stringify(providers)))
})

test('the documentation names each with its key', () => {
  const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8')
  for (const { id, api_key_env: key } of providers) expect(page).toContain(`\`${id}\` | \`${key}\``)
})
