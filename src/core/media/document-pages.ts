import { decodedLength } from './data-url.ts'

/** For a document whose pages are inside compressed streams. */
const USUAL_BYTES_PER_PAGE = 20_000
const PAGE = /\/Type\s{0,4}\/Page(?![A-Za-z])/g
/** Minimum length of a page object; closer matches are skipped, so that fake pages do not slow down the scan. */
const LEAST_CHARS_PER_PAGE = 60

/**
 * Likely number of pages of a PDF: those listed uncompressed, or else by its size. An estimate, never a
 * bound: pages may be compressed to almost nothing, and the page tree may reference one any number of times.
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
