import type { FailureKind } from '../../core/failover/attempt-failure.ts'

/** A key that could not be used: the attempt fails before the provider is asked. */
export class CredentialsFailure extends Error {
  readonly kind: FailureKind
  readonly httpStatus: number | null

  /** @param message for logs; never text of a key or of a response */
  constructor(kind: FailureKind, message: string, httpStatus: number | null = null, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
    this.httpStatus = httpStatus
  }
}
