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

/** An invitation whose message is on its way; `token`: of the link to hand over, where messages reach nobody. */
export interface SentInvitation {
  invitation: Invitation
  token: string | null
}

/** Inviting people to an organisation, by a message with a link or by the link alone. */
export function createInvitations(deps: {
  store: InvitationStore
  throttle: Pick<SignInThrottle, 'invitation'>
  /** Enqueues the message; null where there is no mail. */
  enqueue: ((invitationId: string) => Promise<void>) | null
  /** Messages reach their recipients. */
  isDelivered: boolean
}) {
  const { store, throttle, isDelivered } = deps

  const send = async (invitation: Invitation): Promise<SentInvitation> => {
    await deps.enqueue?.(invitation.id)
    return { invitation, token: isDelivered ? null : await store.link(invitation) }
  }

  /** Strangers get no mail on behalf of somebody who never proved an address. */
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

    /** Makes it valid for another seven days. Null if it was answered or revoked meanwhile. */
    async resend(person: Person, { accountId, id, email }: Invitation): Promise<SentInvitation | null> {
      refuseUnverified(person)
      await throttle.invitation(person.id, email, await store.hasPaid(accountId, person.id))
      const renewed = await store.renew(accountId, id, person.id)
      return renewed && send(renewed)
    },

    /**
     * Makes the person a member. Where messages reach their recipients the address must be verified: a link may have
     * been passed on. Throws ApiError.
     */
    async accept(person: Person, pointer: InvitationPointer): Promise<ReceivedInvitation> {
      if (isDelivered && person.emailVerifiedAt === null)
        throw new ApiError('conflict', 'Verify your email address first, then accept the invitation.')
      return store.answer(person, pointer, true)
    },
  }
}
