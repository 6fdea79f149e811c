/** An address a client can use, for one a server listens on. */
export function addressFor(host: string): string {
  if (host === '::') return '::1'
  return host === '0.0.0.0' ? '127.0.0.1' : host
}

/** The address of a server for clients on this machine. */
export function gatewayUrl(host: string, port: number | string): string {
  const address = addressFor(host)
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
