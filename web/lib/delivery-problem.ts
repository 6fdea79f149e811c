/** The system's words for why no answer came, in a person's. */
const PROBLEMS: Record<string, string> = {
  ENOTFOUND: 'there is no server of that name',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNREFUSED: 'the server refused the connection',
  ECONNRESET: 'the server broke the connection',
  EHOSTUNREACH: 'the server cannot be reached',
  ETIMEDOUT: 'the server did not answer in time',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
}

/** What became of an attempt to deliver: the status it got, or why it got none. */
export function deliveryOutcome(attempt: { status_code: number | null; error: string | null }): string {
  if (attempt.status_code !== null) return `answered ${attempt.status_code}`
  const { error } = attempt
  return error === null ? 'no answer' : (PROBLEMS[error] ?? error)
}
