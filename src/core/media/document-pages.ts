import { decodedLength } from './data-url.ts'

/** For a document whose pages are inside compressed streams. */
const USUAL_BYTES_PER_PAGE = 20_000
const PAGE = /\/Type\s{0,4}\/Page(?![A-Za-z])/
/** The longest text that PAGE matches up to its second name, and the rest of it with the character after. */
const BEFORE_CHARS = 9
const NAME_CHARS = 6
/** Minimum length of a page object; closer matches are skipped. */
const LEAST_CHARS_PER_PAGE = 60
/** A document with more other names of this beginning is searched no further, so that they do not slow down the scan. */
const OTHER_NAMES_MAX = 10_000

/**
 * Likely number of pages of a PDF: those listed uncompressed, or else by its size. An estimate, never a
 * bound: pages may be compressed to almost nothing, and the page tree may reference one any number of times.
 */
export function likelyPages(base64: string): number {
  const bytes = Buffer.from(base64, 'base64')
  let listed = 0
  let others = 0
  for (let at = bytes.indexOf('/Page'); at >= 0 && others < OTHER_NAMES_MAX; ) {
    const isPage = PAGE.test(bytes.toString('latin1', Math.max(0, at - BEFORE_CHARS), at + NAME_CHARS))
    if (isPage) listed++
    else others++
    at = bytes.indexOf('/Page', at + (isPage ? LEAST_CHARS_PER_PAGE : 1))
  }
  return listed > 0 ? listed : Math.ceil(decodedLength(base64) / USUAL_BYTES_PER_PAGE)
}
