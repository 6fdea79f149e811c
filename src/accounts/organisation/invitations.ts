import type { MemberRole } from '../../core/accounts/member-permissions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Person } from '../account-store.ts'
import type { SignInThrottle } from '../sign-in-throttle.ts'
import type {
  Invitation,
  InvitationPointer,
  InvitationStore,
  ReceivedInvitation,
} from './invitation-store.ts'

/** A sent invitation; `token` is for a link to pass on if messages are not delivered. */
export interface SentInvitation {
  invitation: Invitation
  token: string | null
}

export type Invitations = ReturnType<typeof createInvitations>

/** Invites people to an organisation, by a message with a link or by the link alone. */
export function createInvitations(deps: {
  store: InvitationStore
  throttle: Pick<SignInThrottle, 'invitation'>
  /** Enqueues the message; null if there is no mail. */
  enqueue: ((invitationId: string) => Promise<void>) | null
  /** Messages reach their recipients. */
  isDelivered: boolean
}) {
  const { store, throttle, isDelivered } = deps

  const send = async (invitation: Invitation): Promise<SentInvitation> => {
    await deps.enqueue?.(invitation.id)
    return { invitation, token: isDelivered ? null : await store.link(invitation) }
  }

  /** No mail is sent to strangers on behalf of a person without a verified address. */
  const refuseUnverified = ({ emailVerifiedAt }: Person): void => {
    if (isDelivered && emailVerifiedAt === null)
      throw new ApiError('conflict', 'Verify your email address first, then invite others.')
  }

  return {
    async invite(
      accountId: string,
      person: Person,
      email: string,
      role: MemberRole,
    ): Promise<SentInvitation> {
      refuseUnverified(person)
      await throttle.invitation(person.id, email, await store.hasPaid(accountId, person.id))
      return send(await store.create(accountId, person.id, email, role))
    },

    /** Extends it by seven days. Null if it was accepted, declined or revoked meanwhile. */
    async resend(person: Person, { accountId, id, email }: Invitation): Promise<SentInvitation | null> {
      refuseUnverified(person)
      await throttle.invitation(person.id, email, await store.hasPaid(accountId, person.id))
      const renewed = await store.renew(accountId, id, person.id)
      return renewed && send(renewed)
    },

    /**
     * Makes the person a member. If messages reach their recipients, the address must be verified, because a link may
     * have been passed on. Throws ApiError.
     */
    async accept(person: Person, pointer: InvitationPointer): Promise<ReceivedInvitation> {
      if (isDelivered && person.emailVerifiedAt === null)
        throw new ApiError('conflict', 'Verify your email address first, then accept the invitation.')
      return store.answer(person, pointer, true)
    },
  }
}
