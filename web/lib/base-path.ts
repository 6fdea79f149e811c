/**
 * The path below which the gateway is served, without a slash at its end; empty at the root of a host. Scripts lie one
 * folder below it, so each knows it by its own address.
 */
export const BASE_PATH = basePathOf(import.meta.url)

export function basePathOf(script: string): string {
  const { protocol, pathname } = new URL('..', script)
  return protocol.startsWith('http') ? pathname.slice(0, -1) : ''
}
