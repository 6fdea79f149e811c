import { type MemberRole, rolesPermitted } from '../../core/accounts/member-permissions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { newId } from '../../core/kernel/ids.ts'
import { DAY_MS } from '../../core/kernel/time.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { OrganisationInvitation } from '../../platform/prisma-client/client.ts'
import type { Person } from '../account-store.ts'
import { type EmailTokenStore, INVITATION_DAYS } from '../email-token-store.ts'

export type Invitation = OrganisationInvitation

/** An invitation as the invited person sees it. */
export interface ReceivedInvitation
  extends Pick<Invitation, 'id' | 'accountId' | 'email' | 'role' | 'expiresAt'> {
  organisation: string
  /** The email of who invited. */
  invitedByEmail: string
}

/** Which invitation is meant: that of a link, or one that was sent to the person's verified address. */
export type InvitationPointer = { token: string } | { id: string }

/** Invitations that wait in one organisation. */
const WAITING_MAX = 100

const LOCK = 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE'

const IS_MEMBER = `
SELECT 1 FROM organisation_members AS member JOIN accounts AS person ON person.id = member.person_id
WHERE member.account_id = $1 AND lower(person.email) = lower($2)`

const HAS_PAID = `
SELECT 1 FROM ledger_transactions
WHERE account_id IN ($1, $2) AND kind <> 'capture' AND kind IN ('topup', 'credit') LIMIT 1`

/** Whether who sent an invitation is still a member who may send it. */
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

/** Invitations to organisations. A person accepts by the link, or signed in with the verified address. */
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
    /** Newest first, also those that have expired. */
    list: (accountId: string): Promise<Invitation[]> =>
      postgres.organisationInvitation.findMany({ where: { accountId }, orderBy: { id: 'desc' } }),

    find: (id: string): Promise<Invitation | null> =>
      postgres.organisationInvitation.findUnique({ where: { id } }),

    /** Whether an organisation or a person ever topped up, or got credit of an operator. */
    hasPaid: async (accountId: string, personId: string): Promise<boolean> =>
      (await postgres.$queryRawUnsafe<unknown[]>(HAS_PAID, accountId, personId)).length > 0,

    /** Throws ApiError for a member, for an address that is invited already, and beyond the bound. */
    create: (accountId: string, invitedBy: string, email: string, role: MemberRole): Promise<Invitation> =>
      postgres.$transaction(async (transaction) => {
        await transaction.$queryRawUnsafe(LOCK, accountId)
        const [member] = await transaction.$queryRawUnsafe<unknown[]>(IS_MEMBER, accountId, email)
        if (member) throw new ApiError('conflict', 'A member has this email address.', { param: 'email' })
        const waiting = await transaction.organisationInvitation.findMany({ where: { accountId } })
        if (waiting.some((other) => other.email === email))
          throw new ApiError('conflict', 'This address is invited already. Resend that invitation.', {
            param: 'email',
          })
        if (waiting.length >= WAITING_MAX)
          throw new ApiError(
            'conflict',
            `An organisation has ${WAITING_MAX} invitations at most. Revoke one first.`,
          )
        const data = { id: newId('inv'), accountId, email, role, invitedBy, expiresAt: expiry() }
        return transaction.organisationInvitation.create({ data })
      }),

    /** Valid for another seven days, and sent by this person. Null if there is none of that id in the organisation. */
    async renew(accountId: string, id: string, invitedBy: string): Promise<Invitation | null> {
      const { count } = await postgres.organisationInvitation.updateMany({
        where: { accountId, id },
        data: { expiresAt: expiry(), invitedBy },
      })
      return count === 0 ? null : postgres.organisationInvitation.findUnique({ where: { id } })
    },

    /** Takes an invitation back, with its links. Null if there is none of that id in the organisation. */
    revoke: (accountId: string, id: string): Promise<Invitation | null> =>
      postgres.$transaction(async (transaction) => {
        const found = await transaction.organisationInvitation.findFirst({ where: { accountId, id } })
        if (found) await drop(transaction, found)
        return found
      }),

    /** A token for a link to an invitation. */
    link: ({ accountId, email }: Invitation): Promise<string> =>
      tokens.issue(accountId, 'invitation', email).then(({ token }) => token),

    /** What a link invites to. Throws ApiError for another link. */
    async ofLink(token: string): Promise<ReceivedInvitation> {
      const found = await ofLink(token)
      if (!found) throw noSuchInvitation()
      return found
    },

    /** Those that were sent to the verified address of a person. */
    receivedBy: async (person: Person): Promise<ReceivedInvitation[]> =>
      person.emailVerifiedAt === null ? [] : received('lower(invitation.email) = lower($1)', person.email),

    /** Ends an invitation, and makes the person a member if they take it. Throws ApiError for somebody else's. */
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
        // Of several answers at once, one finds it.
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

/** Ends the invitations that a person sent and, since a change of their membership, may not send any more. */
export const endFormerInvitations = (
  transaction: PostgresTransaction,
  accountId: string,
  personId: string,
): Promise<unknown> => transaction.$executeRawUnsafe(END_OF_FORMER, accountId, personId)

const expiry = () => new Date(Date.now() + INVITATION_DAYS * DAY_MS)

/** How many there were: one, or none. */
async function drop(
  transaction: PostgresTransaction,
  { id, accountId, email }: Pick<Invitation, 'id' | 'accountId' | 'email'>,
): Promise<number> {
  await transaction.emailToken.deleteMany({ where: { accountId, purpose: 'invitation', email } })
  const { count } = await transaction.organisationInvitation.deleteMany({ where: { id } })
  return count
}

const noSuchInvitation = (): ApiError =>
  new ApiError(
    'invalid_request',
    'This invitation was used or taken back, or has expired. Ask for another one.',
    {
      param: 'token',
    },
  )
