import type { Provider, ProviderQuirks } from '../core/catalog/catalog.ts'

/**
 * Header names and values in turn, as every wire sends them.
 * @param authHeader where the wire has the key, unless the provider wants it elsewhere
 * @param apiKey null where the provider needs none
 */
export function requestHeaders(
  { quirks }: Provider,
  apiKey: string | null,
  authHeader: NonNullable<ProviderQuirks['authHeader']>,
): string[] {
  const headers = [
    'content-type',
    'application/json',
    'accept',
    'text/event-stream, application/json',
    // A compressed stream is held back by the compressor; tokens should come as they are made.
    'accept-encoding',
    'identity',
  ]
  for (const [name, value] of Object.entries(quirks?.headers ?? {})) headers.push(name, value)
  if (apiKey === null) return headers
  const name = quirks?.authHeader ?? authHeader
  headers.push(name, name === 'authorization' ? `Bearer ${apiKey}` : apiKey)
  return headers
}
