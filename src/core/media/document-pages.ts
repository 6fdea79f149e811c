import { decodedLength } from './data-url.ts'

/** Of a document whose pages lie within compressed streams. */
const USUAL_BYTES_PER_PAGE = 20_000
const PAGE = /\/Type\s{0,4}\/Page(?![A-Za-z])/g
/** No page says less of itself than this, so that what only looks like many pages is read as quickly. */
const LEAST_CHARS_PER_PAGE = 60

/**
 * How many pages a PDF is likely to have: what it lists in the clear, or else by its size. An estimate, never a
 * bound: pages may be compressed to almost nothing, and one may stand in the page tree any number of times.
 */
export function likelyPages(base64: string): number {
  const text = Buffer.from(base64, 'base64').toString('latin1')
  let listed = 0
  for (let from = 0; ; from = PAGE.lastIndex + LEAST_CHARS_PER_PAGE) {
    PAGE.lastIndex = from
    if (!PAGE.test(text)) break
    listed++
  }
  return listed > 0 ? listed : Math.ceil(decodedLength(base64) / USUAL_BYTES_PER_PAGE)
}
