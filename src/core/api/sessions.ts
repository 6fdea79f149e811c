import { type Static, type TSchema, Type } from 'typebox'
import type { MailPreference } from '../accounts/mail-preference.ts'
import { MEMBER_ROLES, PERMISSIONS } from '../accounts/member-permissions.ts'
import { OperatorRoleName, RolesByPermission } from './operators.ts'
import { CLOSED, line, nullable, usd } from './request-fields.ts'

export const email = (format: 'email' | 'new-email') =>
  Type.String({ format, errorMessage: 'Enter a valid email address, for example ann@example.com.' })

/** A password as it was chosen once: its form is not checked. */
const password = Type.String({ minLength: 1, maxLength: 256 })

const newPassword = Type.String({
  minLength: 10,
  maxLength: 256,
  errorMessage: 'A password has 10 to 256 characters. Tip: use a passphrase of several words.',
})

const FreeCredit = Type.Enum(['unverified', 'granted', 'mailbox_used', 'network_used', 'budget_used'])

/**
 * POST /console/api/sign-up → 201 SessionView, or 409 `email_taken`. POST /console/api/sign-in → 200 SessionView,
 * 401 `invalid_credentials`, or 429 with `Retry-After` after too many attempts.
 */
export const CredentialsBody = Type.Object({ email: email('email'), password }, CLOSED)
export type CredentialsBody = Static<typeof CredentialsBody>
export const SignUpBody = Type.Object({ email: email('new-email'), password: newPassword }, CLOSED)

const Mails = Type.Object({
  /** The balance falls to the threshold, or is used up. */
  low_balance: Type.Boolean(),
  key_limit: Type.Boolean(),
  provider_key: Type.Boolean(),
} satisfies Record<MailPreference, TSchema>)

/** Who is signed in. */
export const PersonView = Type.Object({
  /** Of the personal account. */
  id: Type.String(),
  email: Type.String(),
  /** Messages about events go to verified addresses only. */
  email_verified: Type.Boolean(),
  /** Which messages about events the person gets. */
  mails: Mails,
  created_at: Type.String(),
})
export type PersonView = Static<typeof PersonView>

/** An account that the person may act on. */
const Actable = {
  id: Type.String(),
  /** The email of a person, the name of an organisation. */
  name: Type.String(),
  is_organisation: Type.Boolean(),
  /** That of the person on the account; `owner` on their own. */
  role: Type.Enum([...MEMBER_ROLES]),
}
export const ActableAccount = Type.Object(Actable)
export type ActableAccount = Static<typeof ActableAccount>

export const AccountView = Type.Object({
  ...Actable,
  /** A suspended account has no session: sign-in answers 403 `account_suspended`, and its sessions are over (401). */
  state: Type.Enum(['free_credit', 'active', 'exhausted']),
  /** The credit this account started with; null when it started with none. */
  free_credit_usd: nullable(Type.String()),
  /** What became of the free credit of an account that signed up; null where none was on offer. */
  free_credit: nullable(FreeCredit),
  created_at: Type.String(),
})
export type AccountView = Static<typeof AccountView>

export const BalanceView = Type.Object({
  /** What the ledger says. */
  balance_usd: Type.String(),
  /** What may be spent now: the balance less what running calls hold. */
  available_usd: Type.String(),
  held_usd: Type.String(),
  /** Owed for money that was taken back; 0.00 as a rule. */
  owed_usd: Type.String(),
  /** At or below it the account is told `balance.low`; null: never. */
  low_balance_usd: nullable(Type.String()),
})
export type BalanceView = Static<typeof BalanceView>

/** GET /console/api/session → 200, or 401 `not_signed_in`. POST /console/api/sign-out → 204, always. */
export const SessionView = Type.Object({
  person: PersonView,
  /** The account that the session acts on: the person's own, or an organisation. */
  account: AccountView,
  /** What the person may do on it. */
  permissions: Type.Array(Type.Enum([...PERMISSIONS])),
  /** The person's own account, then their organisations by name. */
  accounts: Type.Array(ActableAccount),
  balance: BalanceView,
})
export type SessionView = Static<typeof SessionView>

/** GET /console/api/visitor → 200, always: who is signed in, or null. */
export const VisitorView = Type.Object({
  session: nullable(SessionView),
})
export type VisitorView = Static<typeof VisitorView>

/**
 * POST /console/api/verify → 200 VerifiedView, without a session; 400 for a link that was used or has expired.
 * POST /console/api/verification-mails → 204, 409 if the address is verified or there is no mail, 429 after too many.
 */
export const VerifyBody = Type.Object({ token: line('token', 1, 100) }, CLOSED)
export type VerifyBody = Static<typeof VerifyBody>

export const VerifiedView = Type.Object({
  /** Null: none waited for the verification. */
  free_credit: nullable(FreeCredit),
})
export type VerifiedView = Static<typeof VerifiedView>

/**
 * POST /console/api/password-resets → 202, whether or not the email has an account; 409 where there is no mail, 429
 * after too many. POST /console/api/password-resets/use → 200 WaysInView; 400 for a link that was used or has expired.
 */
export const PasswordResetBody = Type.Object({ email: email('email') }, CLOSED)
export type PasswordResetBody = Static<typeof PasswordResetBody>
export const NewPasswordBody = Type.Object({ token: line('token', 1, 100), password: newPassword }, CLOSED)
export type NewPasswordBody = Static<typeof NewPasswordBody>

/** How an account can be used besides by its new password. Those of an account whose address was never verified are removed. */
export const WaysInView = Type.Object({
  /** Ids of the providers whose identities sign in to it. */
  identities: Type.Array(Type.String()),
  passkeys: Type.Integer(),
  api_keys: Type.Integer(),
})
export type WaysInView = Static<typeof WaysInView>

/**
 * POST /console/api/email-changes → 202: a link is sent to the new address; 409 if it has an account or there is no mail.
 * POST /console/api/email-changes/confirm → 204, without a session; 400 for a link that was used or has expired.
 */
export const EmailChangeBody = Type.Object({ email: email('new-email'), current_password: password }, CLOSED)
export type EmailChangeBody = Static<typeof EmailChangeBody>

/**
 * GET /console/api/sessions → 200. DELETE /console/api/sessions/ID → 204, or 404. DELETE /console/api/sessions → 204: all
 * but this one.
 */
export const SessionEntry = Type.Object({
  id: Type.String(),
  /** The session of this request. */
  current: Type.Boolean(),
  /** Browser and system, such as `Firefox on Linux`; empty: not known. */
  device: Type.String(),
  network_address: Type.String(),
  created_at: Type.String(),
  /** To within some minutes. */
  last_used_at: Type.String(),
})
export type SessionEntry = Static<typeof SessionEntry>
export const SessionList = Type.Object({ data: Type.Array(SessionEntry) })
export type SessionList = Static<typeof SessionList>

/** POST /console/api/password → 204. Ends every other session of the account. */
export const PasswordBody = Type.Object({ current_password: password, new_password: newPassword }, CLOSED)
export type PasswordBody = Static<typeof PasswordBody>

/**
 * GET /console/api/account/export → 200: a JSON file. POST /console/api/account/delete → 204; 409 `conflict` while calls
 * or top-ups are not settled, and where a balance is left that was not given up. The same for the organisation that is
 * acted on: GET /console/api/organisation/export and POST /console/api/organisation/delete.
 */
export const DeleteAccountBody = Type.Object(
  {
    current_password: password,
    /** The whole balance, as `balance_usd` says it, to give it up. */
    forfeit_usd: Type.Optional(Type.String({ maxLength: 40 })),
  },
  CLOSED,
)
export type DeleteAccountBody = Static<typeof DeleteAccountBody>

/** POST /console/api/session/account → 200 SessionView: what follows acts on this account; 404 for one of others. */
export const ActOnBody = Type.Object({ account_id: line('account_id', 1, 64) }, CLOSED)
export type ActOnBody = Static<typeof ActOnBody>

/** PATCH /console/api/account → 200 SessionView: `mails` are the person's, `low_balance_usd` the account's. */
export const AccountPatch = Type.Object(
  {
    /** Null: never. */
    low_balance_usd: Type.Optional(usd('low_balance_usd')),
    /** Absent kinds are unchanged. */
    mails: Type.Optional(Type.Partial(Mails, CLOSED)),
  },
  CLOSED,
)
export type AccountPatch = Static<typeof AccountPatch>

/**
 * GET /console/api/live: an EventSource. `event: balance` with LiveBalance: at once, then whenever it changes;
 * `event: call` with CallSummary: a call of the account that settled, within about a second; `event: bye` with
 * `{reason}` when the session has ended, or acts on another account: do not reconnect. Connections end after some minutes; the browser
 * reconnects by itself. At most 6 an account (429).
 */
export const LiveBalance = Type.Object({
  balance_usd: Type.String(),
  available_usd: Type.String(),
  held_usd: Type.String(),
  state: AccountView.properties.state,
})
export type LiveBalance = Static<typeof LiveBalance>

export const LiveBye = Type.Object({
  reason: Type.Enum(['signed_out', 'account_changed']),
})
export type LiveBye = Static<typeof LiveBye>

/** POST /admin/api/session → 201 OperatorSession; GET → 200 or 401; DELETE → 204. Cookie of its own, 12 hours. */
export const OperatorSignInBody = Type.Object({ admin_key: line('admin_key', 1, 200) }, CLOSED)
export type OperatorSignInBody = Static<typeof OperatorSignInBody>

export const OperatorSession = Type.Object({
  operator_id: Type.String(),
  operator_name: Type.String(),
  role: OperatorRoleName,
  /** Which roles have each permission. */
  permissions: RolesByPermission,
  /** The admin key that it was begun with; null after single sign-on. */
  key_id: nullable(Type.String()),
  hint: nullable(Type.String()),
  expires_at: Type.String(),
})
export type OperatorSession = Static<typeof OperatorSession>

/** GET /admin/api/visitor → 200, always: which operator is signed in, or null, and how one signs in here. */
export const OperatorVisitor = Type.Object({
  session: nullable(OperatorSession),
  /** What the single sign-on is called; null: there is none. */
  single_sign_on: nullable(Type.String()),
  /** Whether admin keys sign in. */
  admin_keys: Type.Boolean(),
})
export type OperatorVisitor = Static<typeof OperatorVisitor>
