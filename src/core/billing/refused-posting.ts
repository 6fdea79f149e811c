/** A posting that cannot be made as it was asked for. Its message is for the requester. */
export class RefusedPosting extends Error {
  override readonly name = 'RefusedPosting'
  readonly reason: 'reference-taken' | 'too-little-free'

  constructor(reason: RefusedPosting['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}
