import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { sidebar, sitePages } from '../../tools/docs-site/site-pages.ts'

const ROOT = resolve(import.meta.dirname, '../..')

test('the sidebar of the site names every page once, those for agents first', () => {
  const links = sidebar(ROOT).flatMap(({ items }) => items.map(({ link }) => link))
  // The front page and the index are above it; the decisions are listed by their index.
  const listed = sitePages(ROOT).filter((page) => !/^(docs\/)?README|decisions\/\d/.test(page))
  const addresses = [...listed, 'docs/reference.md'].map((page) => `/${page.replace(/(README)?\.md$/, '')}`)
  expect(links.toSorted()).toEqual(addresses.sort())
  expect(links[0]).toBe('/docs/agents')
})
