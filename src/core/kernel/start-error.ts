/** A startup problem that the operator can fix. The message contains one line per problem. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
