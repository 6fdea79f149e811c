/** A posting that is not possible. Its message is for the requester. */
export class RefusedPosting extends Error {
  override readonly name = 'RefusedPosting'
  readonly reason: 'reference-taken' | 'too-little-free'

  constructor(reason: RefusedPosting['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
