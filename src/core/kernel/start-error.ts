/** What keeps a process from starting and its operator can mend. The message says all of it, in one line a problem. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
