import { type Static, Type } from 'typebox'
import { ACCOUNT_ACTIONS } from '../accounts/account-action.ts'
import { MEMBER_ROLES } from '../accounts/member-permissions.ts'
import { CLOSED, line, nullable, usd } from './request-fields.ts'
import { email } from './sessions.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

/** Invitations show it to strangers. */
const name = Type.String({
  minLength: 1,
  maxLength: 80,
  format: 'line',
  pattern: '^(?!.*://)',
  errorMessage: {
    format: '`name` takes one line of text without control characters.',
    pattern: '`name` takes no web address.',
  },
})
const Role = Type.Enum([...MEMBER_ROLES], {
  errorMessage: `\`role\` is one of ${MEMBER_ROLES.join(', ')}.`,
})

/**
 * POST /console/api/organisations → 201 SessionView: the session acts on it from now on. PATCH
 * /console/api/organisation → 200 SessionView: renames the session's organisation.
 */
export const OrganisationBody = Type.Object({ name }, CLOSED)
export type OrganisationBody = Static<typeof OrganisationBody>

export const MemberView = Type.Object({
  /** Id of the personal account. */
  id: Type.String(),
  email: Type.String(),
  role: Role,
  /** Whether it is the requester. */
  is_you: Type.Boolean(),
  /** Monthly spending limit of the member's keys (UTC); null: no budget. */
  monthly_budget_usd: nullable(DecimalUsd),
  /** Spending of this month (UTC). */
  spent_usd: DecimalUsd,
  /** What is left of the budget, before the holds of running calls; null: no budget. */
  remaining_usd: nullable(DecimalUsd),
  /** Number of unrevoked keys that the member created. */
  keys: Type.Integer(),
  joined_at: IsoTime,
})
export type MemberView = Static<typeof MemberView>

export const InvitationView = Type.Object({
  id: Type.String(),
  email: Type.String(),
  role: Role,
  created_at: IsoTime,
  expires_at: IsoTime,
})
export type InvitationView = Static<typeof InvitationView>

/** GET /console/api/members. */
export const MemberList = Type.Object({
  data: Type.Array(MemberView),
  /** Pending invitations, newest first. */
  invitations: Type.Array(InvitationView),
  /** When the budgets of members are reset. */
  budgets_reset_at: IsoTime,
})
export type MemberList = Static<typeof MemberList>

/** PATCH /console/api/members/ID → 204; 409 for the last owner. */
export const MemberPatch = Type.Object({ role: Role }, CLOSED)
export type MemberPatch = Static<typeof MemberPatch>

/** PATCH /console/api/members/ID/budget → 204, once all processes apply it. */
export const MemberBudgetBody = Type.Object(
  {
    /** Null: no budget. */
    monthly_budget_usd: usd('monthly_budget_usd'),
  },
  CLOSED,
)
export type MemberBudgetBody = Static<typeof MemberBudgetBody>

/** POST /console/api/members/ID/remove → 204, and POST /console/api/organisation/leave → 204; 409 for the last owner. */
export const EndMembershipBody = Type.Object(
  {
    /** The member who takes over the keys, which then need new secrets; absent: they are revoked. Set by owners and admins. */
    keys_go_to: Type.Optional(line('keys_go_to', 1, 64)),
  },
  CLOSED,
)
export type EndMembershipBody = Static<typeof EndMembershipBody>

/** POST /console/api/members/invitations → 201 SentInvitation; 409 for a member or an invited address. */
export const InvitationBody = Type.Object({ email: email('new-email'), role: Role }, CLOSED)
export type InvitationBody = Static<typeof InvitationBody>

/** Also of POST /console/api/members/invitations/ID/resend → 200. DELETE /console/api/members/invitations/ID → 204. */
export const SentInvitationView = Type.Object({
  invitation: InvitationView,
  /** The path of the link if the gateway sends no mail; null: it was sent by mail. */
  link: nullable(Type.String()),
})
export type SentInvitationView = Static<typeof SentInvitationView>

/** POST /console/api/invitations/look → 200, without a session; 400 for a used or expired link. */
export const InvitationToken = Type.Object({ token: line('token', 1, 100) }, CLOSED)

export const ReceivedInvitationView = Type.Object({
  id: Type.String(),
  organisation: Type.String(),
  /** The invited email. */
  email: Type.String(),
  role: Role,
  invited_by: Type.String(),
  expires_at: IsoTime,
})
export type ReceivedInvitationView = Static<typeof ReceivedInvitationView>

/** POST /console/api/invitations/accept → 200 SessionView, acting on the organisation; …/decline → 204. */
export const InvitationAnswer = Type.Object(
  {
    /** The token of a link. */
    token: Type.Optional(line('token', 1, 100)),
    /** The id of a listed invitation. */
    id: Type.Optional(line('id', 1, 64)),
  },
  CLOSED,
)
export type InvitationAnswer = Static<typeof InvitationAnswer>

/**
 * GET /console/api/activity?target&cursor&limit: a page of people's actions on the account, newest first. `target` is an
 * id, or the email of a person.
 */
export const ActivityEntry = Type.Object({
  id: Type.String(),
  at: IsoTime,
  /** The email of the person who acted. */
  person: Type.String(),
  action: Type.Enum([...ACCOUNT_ACTIONS]),
  /** An id; for a person, the email. */
  target: Type.String(),
  details: Type.Record(
    Type.String(),
    Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
  ),
})
export type ActivityEntry = Static<typeof ActivityEntry>
