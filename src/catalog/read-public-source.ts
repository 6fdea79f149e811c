import { readFile, stat } from 'node:fs/promises'
import { checkWebhookUrl } from '../platform/network/public-address.ts'
import { readBoundedBody } from '../platform/network/read-bounded-body.ts'

const DEADLINE_MS = 30_000
/** The largest list has about 5 MB. */
const MAX_BYTES = 32 * 1024 * 1024

/**
 * Reads a public list from a file or an address. An address has to be https and public, and no redirect is followed. Rejects with an
 * Error that names the location.
 */
export async function readPublicSource(location: string): Promise<unknown> {
  try {
    return JSON.parse(await (/^[a-z]+:\/\//i.test(location) ? download(location) : readList(location)))
  } catch (cause) {
    throw new Error(`${location} cannot be used: ${(cause as Error).message}`, { cause })
  }
}

async function download(location: string): Promise<string> {
  const checked = checkWebhookUrl(location, false)
  if (checked.kind === 'refused') throw new Error(`the address ${checked.reason}`)
  const response = await fetch(checked.url, { redirect: 'error', signal: AbortSignal.timeout(DEADLINE_MS) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`it returned ${response.status}`)
  }
  return readBoundedBody(response, MAX_BYTES, location)
}

async function readList(path: string): Promise<string> {
  if ((await stat(path)).size > MAX_BYTES) throw new Error(`it exceeds ${MAX_BYTES} bytes`)
  return readFile(path, 'utf8')
}
