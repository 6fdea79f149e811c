import type { Provider } from '../../core/catalog/catalog.ts'
import { createSign } from '../credentials/create-sign.ts'
import { CredentialsFailure } from '../credentials/credentials-failure.ts'
import { openListing } from './read-listing.ts'

/** The result of a check; `unknown`: inconclusive. */
export type KeyCheck = 'accepted' | 'unauthorized' | 'payment_required' | 'unknown'

const REFUSAL_MAX_BYTES = 64 * 1024

/** The generate-content wire's error for a wrong key; its status is less specific. */
const INVALID_KEY = /API_KEY_INVALID|API_KEY_EXPIRED|api key (not valid|expired|not found)/i

/**
 * Requests a provider's model list with a BYOK key, only at the address in the catalog: a
 * redirect is an error. Rejects if there is no response in time.
 */
export async function checkKey(provider: Provider, secret: string, signal: AbortSignal): Promise<KeyCheck> {
  if (provider.credentials) return checkExchange(provider, secret)
  const answer = await openListing(provider, secret, signal)
  if (!answer.ok) return refusalOf(answer)
  await answer.body?.cancel()
  // A list that needs no key cannot confirm a key.
  const open = await openListing(provider, undefined, signal)
  await open.body?.cancel()
  return open.status === 401 || open.status === 403 || open.status === 400 ? 'accepted' : 'unknown'
}

/** Clouds have no list at the address of calls. A key that is exchanged for a token is checked by that. */
async function checkExchange({ baseUrl: url, credentials }: Provider, secret: string): Promise<KeyCheck> {
  try {
    const request = { url, headers: [], body: '' }
    const { headers } = await createSign(Date.now)(request, secret, credentials!)
    return headers.includes('authorization') && credentials!.kind !== 'aws' ? 'accepted' : 'unknown'
  } catch (error) {
    if (error instanceof CredentialsFailure && error.kind === 'refused') return 'unauthorized'
    throw error
  }
}

/** A 403 may apply to the list only: a key can be restricted to calls. */
async function refusalOf(answer: Response): Promise<KeyCheck> {
  const text = answer.status === 400 ? await beginningOf(answer) : ''
  await answer.body?.cancel()
  if (answer.status === 401 || INVALID_KEY.test(text)) return 'unauthorized'
  return answer.status === 402 ? 'payment_required' : 'unknown'
}

async function beginningOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = answer.body?.getReader()
  while (reader && bytes < REFUSAL_MAX_BYTES) {
    const { done, value } = await reader.read()
    if (done) break
    chunks.push(value)
    bytes += value.byteLength
  }
  reader?.releaseLock()
  return Buffer.concat(chunks).toString('utf8')
}
