let hasEnded = false

/** Notes that a session ended while a page of it was open, so that the sign-in page says why it is shown. */
export const noteSessionEnd = (): void => {
  hasEnded = true
}

/** Whether a session ended since this was asked last. */
export function takeSessionEnd(): boolean {
  const ended = hasEnded
  hasEnded = false
  return ended
}
