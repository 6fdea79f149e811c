import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { DOC_PAGES, docLink } from '../../../web/lib/docs/doc-pages.ts'
import { docSearch } from '../../../web/lib/docs/doc-search.ts'
import { bodyOf, headingId, sectionsOf, titleOf, WRITTEN_ADDRESS } from '../../../web/lib/docs/doc-text.ts'
import { groupCode } from '../../../web/lib/docs/group-code.ts'

const read = (file: string): string => readFileSync(new URL(`../../../docs/${file}`, import.meta.url), 'utf8')
const PAGES = DOC_PAGES.map((page) => ({ ...page, markdown: read(page.file) }))

describe('the docs of the console', () => {
  test.each(PAGES)('name $file as its first line does', ({ markdown, title }) => {
    expect(titleOf(markdown)).toBe(title)
  })

  test.each(PAGES)('lead from $file only to pages and headings that are there', ({ markdown }) => {
    const links = [...markdown.matchAll(/\]\(([^)\s]+)\)/g)].map(([, href = '']) => docLink(href))
    for (const link of links) {
      if (link.kind !== 'page') continue
      const target = PAGES.find(({ slug }) => slug === link.slug)
      const headings = sectionsOf(target?.markdown ?? '').map(({ id }) => id)
      expect(headings, `${link.slug}#${link.hash}`).toContain(link.hash)
    }
  })

  test.each(PAGES)('write the address of the gateway in one way in $file', ({ markdown }) => {
    const shown = bodyOf(markdown, 'https://ai.example/gw')
    expect(shown).not.toMatch(/127\.0\.0\.1|localhost:\d/)
    expect(shown.split('https://ai.example/gw/').length).toBe(markdown.split(`${WRITTEN_ADDRESS}/`).length)
  })

  test.each(PAGES)('show no key in $file', ({ markdown }) => {
    expect(markdown).not.toMatch(/sk-sy-\w/)
  })

  test('links of the docs are classified as pages, other sites or pages for operators', () => {
    expect(docLink('errors.md#codes')).toEqual({ kind: 'page', slug: 'errors', hash: 'codes' })
    expect(docLink('#codes')).toEqual({ kind: 'heading', hash: 'codes' })
    expect(docLink('https://example.com/a')).toEqual({ kind: 'web', href: 'https://example.com/a' })
    for (const href of ['operating.md', 'decisions/0011-prompts-are-not-stored.md', 'javascript:alert(1)'])
      expect(docLink(href)).toEqual({ kind: 'none' })
  })
})

describe('sections', () => {
  test('begin at headings, and not at comments of code', () => {
    const markdown =
      '# Page\n\nFirst.\n\n## The `one` part\n\n```sh\n## no heading\n```\n\n### Detail\n\nText.\n'
    expect(sectionsOf(markdown).map(({ depth, title, id }) => [depth, title, id])).toEqual([
      [1, '', ''],
      [2, 'The one part', 'the-one-part'],
      [3, 'Detail', 'detail'],
    ])
  })

  test('have the fragments that code hosts make', () => {
    expect(headingId('Calls, keys and usage')).toBe('calls-keys-and-usage')
    expect(headingId('`auto`: scores')).toBe('auto-scores')
  })
})

describe('the search', () => {
  const search = docSearch(PAGES)
  const first = (typed: string) => search(typed, 5).map(({ slug, hash }) => `${slug}#${hash}`)[0]

  test.each([
    ['rate limits', 'errors#rate-limits'],
    ['streams that br', 'streaming#streams-that-break'],
    ['idempotency', 'http-api#idempotency'],
    ['webhooks', 'webhooks#'],
    ['idempotensy', 'http-api#idempotency'],
  ])('finds “%s” at its heading', (typed, place) => expect(first(typed)).toBe(place))

  test('finds codes in tables, whole and by their parts', () => {
    expect(search('insufficient_balance', 5).map(({ slug }) => slug)).toContain('errors')
    expect(search('affordable tokens', 8).map(({ slug }) => slug)).toContain('errors')
  })

  test('finds nothing for what is nowhere', () => expect(search('zeppelin', 5)).toEqual([]))
})

test('the same example in several languages becomes one group, and two of one language do not', () => {
  const code = (lang: string) => ({ type: 'code', lang, value: lang })
  const tree = {
    type: 'root',
    children: [
      code('sh'),
      code('python'),
      code('js'),
      { type: 'paragraph' },
      code('sh'),
      code('sh'),
      code('json'),
    ],
  }
  groupCode()(tree)
  expect(tree.children.map(({ type }) => type)).toEqual(['codeGroup', 'paragraph', 'code', 'code', 'code'])
})
