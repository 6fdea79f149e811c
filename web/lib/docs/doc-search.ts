import MiniSearch from 'minisearch'
import { plainText, sectionsOf } from './doc-text.ts'

/** A section that was found. */
export interface DocHit {
  slug: string
  /** The fragment; empty for the beginning of the page. */
  hash: string
  page: string
  /** The title of the page at its beginning. */
  heading: string
}

interface SearchedPage {
  slug: string
  title: string
  markdown: string
}

/** An index of the sections of pages, to be asked with what was typed: headings count most, then titles of pages. */
export function docSearch(pages: readonly SearchedPage[]): (typed: string, limit: number) => DocHit[] {
  const index = new MiniSearch({
    fields: ['heading', 'page', 'text'],
    storeFields: ['slug', 'hash', 'page', 'heading'],
    // A code is one word, and so are its parts.
    tokenize: (text) =>
      text
        .split(/[^\p{L}\p{N}_]+/u)
        .filter(Boolean)
        .flatMap((word) => [word, ...parts(word)]),
    searchOptions: {
      boost: { heading: 5, page: 3 },
      prefix: true,
      fuzzy: (word) => (word.length > 4 ? 0.2 : false),
      combineWith: 'AND',
    },
  })
  for (const { slug, title, markdown } of pages)
    index.addAll(
      sectionsOf(markdown).map(({ id, title: heading, text }) => ({
        id: `${slug}#${id}`,
        slug,
        hash: id,
        page: title,
        // A page begins with its title.
        heading: heading || title,
        text: plainText(text),
      })),
    )
  return (typed, limit) =>
    index
      .search(typed)
      .slice(0, limit)
      .map(({ slug, hash, page, heading }) => ({ slug, hash, page, heading }))
}

const parts = (word: string): string[] => (word.includes('_') ? word.split('_').filter(Boolean) : [])
