import { createHash } from 'node:crypto'
import { readCatalogFile } from './catalog-file.ts'
import type { OverlayDocument } from './catalog-overlay.ts'

const DEADLINE_MS = 15_000
const BODY_MAX_BYTES = 8 * 1024 * 1024

/** Reads a catalog document with prices from a path or http(s) URL. Rejects with a readable Error. */
export async function readPriceFile(location: string): Promise<OverlayDocument> {
  if (!/^https?:\/\//.test(location)) {
    const { content, updatedAt } = await readCatalogFile(location)
    return { name: location, content, updatedAt }
  }
  const response = await fetch(location, { signal: AbortSignal.timeout(DEADLINE_MS) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${nameOf(location)} answered ${response.status}`)
  }
  const text = await response.text()
  if (text.length > BODY_MAX_BYTES)
    throw new Error(`${nameOf(location)} is larger than ${BODY_MAX_BYTES} bytes`)
  const modified = Date.parse(response.headers.get('last-modified') ?? '')
  const updatedAt = Number.isNaN(modified) ? 0 : Math.floor(modified / 1000)
  try {
    return { name: nameOf(location), content: JSON.parse(text), updatedAt }
  } catch (cause) {
    throw new Error(`${nameOf(location)} is not JSON`, { cause })
  }
}

/** Without the query, which may contain a secret; a hash of the whole URL distinguishes them. */
function nameOf(location: string): string {
  const { origin, pathname, search } = new URL(location)
  const mark = search ? `#${createHash('sha256').update(location).digest('hex').slice(0, 8)}` : ''
  return `${origin}${pathname}${mark}`
}
