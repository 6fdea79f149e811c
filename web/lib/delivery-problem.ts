/** System error codes in words. */
const PROBLEMS: Record<string, string> = {
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'DNS lookup failed',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ETIMEDOUT: 'timed out',
  CERT_HAS_EXPIRED: 'certificate expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate does not match the host',
}

/** The outcome of a delivery attempt: the status received, or why there was none. */
export function deliveryOutcome(attempt: { status_code: number | null; error: string | null }): string {
  if (attempt.status_code !== null) return `HTTP ${attempt.status_code}`
  const { error } = attempt
  return error === null ? 'no response' : (PROBLEMS[error] ?? error)
}
