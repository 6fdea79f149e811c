import { expect, test } from 'vitest'
import { likelyPages } from '../../../src/core/media/document-pages.ts'

const pagesOf = (text: string) => likelyPages(Buffer.from(text, 'latin1').toString('base64'))
const page = (space: string) =>
  `<< /Type${space}/Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>\n`

test('a document has the pages that it lists, however their names are spaced, and no other names', () => {
  const others =
    '<< /Type /Catalog /Pages 2 0 R >> << /Type /Pages /Count 9 >> /PageMode /Type /PageLabel /Page'
  expect(pagesOf(others + page(' ') + page('') + page('\r\n') + page('     ') + '/Type/Page')).toBe(4)
})

test('a document that lists none has as many as documents of its size', () => {
  expect(pagesOf(`/Type /Pages${'x'.repeat(100_000)}`)).toBe(6)
})

test('names that are no pages do not slow the search down without limit', () => {
  expect(pagesOf('/Page'.repeat(1_000_000) + page(' '))).toBe(251)
})
