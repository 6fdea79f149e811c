/** System error codes in words. */
const PROBLEMS: Record<string, string> = {
  ENOTFOUND: 'there is no server of that name',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: 'the server broke the connection',
  EHOSTUNREACH: 'the server cannot be reached',
  ETIMEDOUT: 'the server did not respond in time',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

/** The outcome of a delivery attempt: the status received, or why there was none. */
export function deliveryOutcome(attempt: { status_code: number | null; error: string | null }): string {
  if (attempt.status_code !== null) return `responded with ${attempt.status_code}`
  const { error } = attempt
  return error === null ? 'no response' : (PROBLEMS[error] ?? error)
}
