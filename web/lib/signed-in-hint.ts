const STORED_AS = 'switchyard-signed-in'

/** Notes whether this browser has a session, for the frame of the next visit. */
export function noteSignedIn(isSignedIn: boolean): void {
  try {
    if (isSignedIn) localStorage.setItem(STORED_AS, 'yes')
    else localStorage.removeItem(STORED_AS)
  } catch {
    // Storage may be refused; the frame then changes once the session is known.
  }
}

/** Whether this browser had a session when it was last asked for. It may have ended since. */
export function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(STORED_AS) !== null
  } catch {
    return false
  }
}
