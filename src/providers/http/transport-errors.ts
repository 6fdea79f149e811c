import type { TransportFailureKind } from './exchange.ts'

/** Maps an error of the HTTP client onto the closed set; `sent` when the request had a connection. */
export function transportErrorKind(error: Error, sent: boolean): TransportFailureKind {
  const code = errorCode(error)
  if (
    code.startsWith('HPE_') ||
    code === 'UND_ERR_HEADERS_OVERFLOW' ||
    code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
  ) {
    return 'unreadable'
  }
  return sent ? 'reset' : 'connect'
}

/** A line for logs: the code, which names no prompt and no key. */
export function describeTransportError(error: Error): string {
  return errorCode(error) || error.name
}

function errorCode(error: Error): string {
  const { code, cause } = error as Error & { code?: unknown }
  if (typeof code === 'string') return code
  return cause instanceof Error ? errorCode(cause) : ''
}
