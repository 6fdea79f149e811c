import { type MemberRole, rolesPermitted } from '../../core/accounts/member-permissions.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { newId } from '../../core/kernel/ids.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { OrganisationInvitation } from '../../platform/prisma-client/client.ts'
import type { Person } from '../account-store.ts'
import { type EmailTokenStore, INVITATION_DAYS } from '../email-token-store.ts'

export type Invitation = OrganisationInvitation

/** An invitation for the invited person. */
export interface ReceivedInvitation
  extends Pick<Invitation, 'id' | 'accountId' | 'email' | 'role' | 'expiresAt'> {
  organisation: string
  /** The email of the inviter. */
  invitedByEmail: string
}

/** Identifies an invitation: by the token of a link, or by id for the person's verified address. */
export type InvitationPointer = { token: string } | { id: string }

/** Maximum pending invitations of an organisation. */
const WAITING_MAX = 100

const LOCK = 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE'

const IS_MEMBER = `
SELECT 1 FROM organisation_members AS member JOIN accounts AS person ON person.id = member.person_id
WHERE member.account_id = $1 AND lower(person.email) = lower($2)`

const HAS_PAID = `
SELECT 1 FROM ledger_transactions
WHERE account_id IN ($1, $2) AND kind <> 'capture' AND kind IN ('topup', 'credit') LIMIT 1`

/** Whether the inviter is still a member who may invite. */
const INVITER_MAY_INVITE = `EXISTS (
  SELECT FROM organisation_members AS sender
  WHERE sender.account_id = invitation.account_id AND sender.person_id = invitation.invited_by
    AND sender.role::text = ANY (CASE invitation.role
      WHEN 'owner' THEN ARRAY['${rolesPermitted('ownership').join("','")}']
      ELSE ARRAY['${rolesPermitted('members').join("','")}'] END)
)`

const RECEIVED = `
SELECT invitation.id, invitation.account_id AS "accountId", invitation.email, invitation.role::text AS role,
       invitation.expires_at AS "expiresAt", organisation.name AS organisation, inviter.email AS "invitedByEmail"
FROM organisation_invitations AS invitation
JOIN accounts AS organisation ON organisation.id = invitation.account_id AND organisation.state <> 'suspended'
JOIN accounts AS inviter ON inviter.id = invitation.invited_by AND inviter.state <> 'suspended'
WHERE invitation.expires_at > now() AND ${INVITER_MAY_INVITE}`

const END_OF_FORMER = `
WITH ended AS (
  DELETE FROM organisation_invitations AS invitation
  WHERE invitation.account_id = $1 AND invitation.invited_by = $2 AND NOT ${INVITER_MAY_INVITE}
  RETURNING invitation.email
)
DELETE FROM email_tokens WHERE account_id = $1 AND purpose = 'invitation' AND email IN (SELECT email FROM ended)`

/** Invitations to organisations. A person accepts with the link, or signed in with the verified address. */
export type InvitationStore = ReturnType<typeof createInvitationStore>

export function createInvitationStore(postgres: Postgres, tokens: Pick<EmailTokenStore, 'issue' | 'find'>) {
  const received = (condition: string, ...values: string[]): Promise<ReceivedInvitation[]> =>
    postgres.$queryRawUnsafe<ReceivedInvitation[]>(
      `${RECEIVED} AND ${condition} ORDER BY invitation.id`,
      ...values,
    )

  const ofLink = async (token: string): Promise<ReceivedInvitation | null> => {
    const found = await tokens.find('invitation', token)
    if (!found) return null
    const { accountId, email } = found
    const [one] = await received('invitation.account_id = $1 AND invitation.email = $2', accountId, email)
    return one ?? null
  }

  return {
    /** Newest first, including expired ones. */
    list: (accountId: string): Promise<Invitation[]> =>
      postgres.organisationInvitation.findMany({ where: { accountId }, orderBy: { id: 'desc' } }),

    find: (id: string): Promise<Invitation | null> =>
      postgres.organisationInvitation.findUnique({ where: { id } }),

    /** Whether an organisation or a person has ever topped up or received credit from an operator. */
    hasPaid: async (accountId: string, personId: string): Promise<boolean> =>
      (await postgres.$queryRawUnsafe<unknown[]>(HAS_PAID, accountId, personId)).length > 0,

    /** Throws ApiError for a member, for an invited address, and at the maximum. */
    create: (accountId: string, invitedBy: string, email: string, role: MemberRole): Promise<Invitation> =>
      postgres.$transaction(async (transaction) => {
        await transaction.$queryRawUnsafe(LOCK, accountId)
        const [member] = await transaction.$queryRawUnsafe<unknown[]>(IS_MEMBER, accountId, email)
        if (member) throw new ApiError('conflict', 'A member has this email address.', { param: 'email' })
        const waiting = await transaction.organisationInvitation.findMany({ where: { accountId } })
        if (waiting.some((other) => other.email === email))
          throw new ApiError('conflict', 'This address is already invited. Resend the existing invitation.', {
            param: 'email',
          })
        if (waiting.length >= WAITING_MAX)
          throw new ApiError(
            'conflict',
            `An organisation can have at most ${WAITING_MAX} invitations. Revoke one first.`,
          )
        const data = { id: newId('inv'), accountId, email, role, invitedBy, expiresAt: expiry() }
        return transaction.organisationInvitation.create({ data })
      }),

    /** Extends an invitation by seven days, with this person as inviter. Null if the organisation has none with that id. */
    async renew(accountId: string, id: string, invitedBy: string): Promise<Invitation | null> {
      const { count } = await postgres.organisationInvitation.updateMany({
        where: { accountId, id },
        data: { expiresAt: expiry(), invitedBy },
      })
      return count === 0 ? null : postgres.organisationInvitation.findUnique({ where: { id } })
    },

    /** Revokes an invitation and its links. Null if the organisation has none with that id. */
    revoke: (accountId: string, id: string): Promise<Invitation | null> =>
      postgres.$transaction(async (transaction) => {
        const found = await transaction.organisationInvitation.findFirst({ where: { accountId, id } })
        if (found) await drop(transaction, found)
        return found
      }),

    /** A token for a link to an invitation. */
    link: ({ accountId, email }: Invitation): Promise<string> =>
      tokens.issue(accountId, 'invitation', email).then(({ token }) => token),

    /** The invitation of a link. Throws ApiError for an invalid link. */
    async ofLink(token: string): Promise<ReceivedInvitation> {
      const found = await ofLink(token)
      if (!found) throw noSuchInvitation()
      return found
    },

    /** Invitations sent to the verified address of a person. */
    receivedBy: async (person: Person): Promise<ReceivedInvitation[]> =>
      person.emailVerifiedAt === null ? [] : received('lower(invitation.email) = lower($1)', person.email),

    /**
     * Ends an invitation, and makes the person a member if they accept it. Throws ApiError for the invitation of
     * another person.
     */
    async answer(
      person: Person,
      pointer: InvitationPointer,
      isAccepted: boolean,
    ): Promise<ReceivedInvitation> {
      const invitation =
        'token' in pointer
          ? await ofLink(pointer.token)
          : (await this.receivedBy(person)).find(({ id }) => id === pointer.id)
      if (!invitation) throw noSuchInvitation()
      const { accountId, email, role } = invitation
      if (email.toLowerCase() !== person.email.toLowerCase())
        throw new ApiError(
          'conflict',
          `This invitation is for ${email}. Sign in with that address to accept it.`,
        )
      await postgres.$transaction(async (transaction) => {
        await transaction.$queryRawUnsafe(LOCK, accountId)
        // Of several concurrent responses, only one finds it.
        if ((await drop(transaction, invitation)) === 0) throw noSuchInvitation()
        if (isAccepted)
          await transaction.organisationMember.upsert({
            where: { accountId_personId: { accountId, personId: person.id } },
            create: { accountId, personId: person.id, role },
            update: {},
          })
      })
      return invitation
    },
  }
}

/** Ends the invitations of a person who may no longer send them after a change of the membership. */
export const endFormerInvitations = (
  transaction: PostgresTransaction,
  accountId: string,
  personId: string,
): Promise<unknown> => transaction.$executeRawUnsafe(END_OF_FORMER, accountId, personId)

const expiry = () => new Date(Date.now() + INVITATION_DAYS * DAY_MS)

/** Returns the number of deleted invitations: one or none. */
async function drop(
  transaction: PostgresTransaction,
  { id, accountId, email }: Pick<Invitation, 'id' | 'accountId' | 'email'>,
): Promise<number> {
  await transaction.emailToken.deleteMany({ where: { accountId, purpose: 'invitation', email } })
  const { count } = await transaction.organisationInvitation.deleteMany({ where: { id } })
  return count
}

const noSuchInvitation = (): ApiError =>
  invalid('token', 'This invitation was used or revoked, or has expired. Request a new one.')
