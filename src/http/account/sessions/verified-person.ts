import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../../core/kernel/errors.ts'
import { signedIn } from '../../plugins/session.ts'

/**
 * The signed-in person, before another way to sign in is added. If messages reach their recipients, the address must be
 * verified: an account that was opened with a stranger's address would otherwise stay shared with the stranger, who
 * resets its password. Throws ApiError 403 `not_permitted`.
 */
export function verifiedPerson(request: FastifyRequest, { isDelivered }: { isDelivered: boolean }) {
  const { person } = signedIn(request)
  if (isDelivered && person.emailVerifiedAt === null)
    throw new ApiError(
      'not_permitted',
      'Verify your email address first: open the link in the message that was sent to it.',
    )
  return person
}
