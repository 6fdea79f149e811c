import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DocumentModel, DocumentProvider } from '../../src/core/catalog/catalog-document.ts'
import { parseCatalogDocument } from '../../src/core/catalog/parse-catalog-document.ts'
import { MAKERS } from '../../src/core/catalog/refresh-catalog.ts'

const { providers, models } = JSON.parse(
  readFileSync(new URL('../../src/catalog/data/builtin.json', import.meta.url), 'utf8'),
) as { providers: DocumentProvider[]; models: DocumentModel[] }

test('the built-in providers are 25 or more, each valid, with a key of its own and a safe address', () => {
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

test('makers come before the providers that run the models of others', () => {
  const isMaker = providers.map(({ id }) => MAKERS[id] !== undefined)
  expect(isMaker.filter((is) => is)).toHaveLength(14)
  expect(isMaker.lastIndexOf(true)).toBe(13)
})

test('offers are marked for exact tool calls at the maker, and elsewhere only by the measurement that the docs name', () => {
  const marked = models.flatMap(({ id, vendor, offers = [] }) =>
    offers.filter((offer) => offer.exact_tools).map(({ provider }) => ({ id, vendor, provider })),
  )
  const elsewhere = marked.filter(({ vendor, provider }) => MAKERS[provider] !== vendor)
  expect(elsewhere.map(({ id, provider }) => `${provider} ${id}`)).toEqual([
    'deepinfra moonshotai/kimi-k2-instruct-0905',
    'novita moonshotai/kimi-k2-instruct-0905',
  ])
})

test('the documentation names each with its key', () => {
  const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8')
  for (const { id, api_key_env: key } of providers) expect(page).toContain(`\`${id}\` | \`${key}\``)
})
