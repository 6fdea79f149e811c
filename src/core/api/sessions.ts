import { type Static, type TSchema, Type } from 'typebox'
import type { MailPreference } from '../accounts/mail-preference.ts'
import { MEMBER_ROLES, PERMISSIONS } from '../accounts/member-permissions.ts'
import { OperatorRoleName, RolesByPermission } from './operators.ts'
import { CLOSED, line, nullable, usd } from './request-fields.ts'

export const email = (format: 'email' | 'new-email') =>
  Type.String({ format, errorMessage: 'Enter a valid email address, for example ann@example.com.' })

/** An existing password, whose form is not checked. */
const password = Type.String({ minLength: 1, maxLength: 256 })

const newPassword = Type.String({
  minLength: 10,
  maxLength: 256,
  errorMessage: 'A password has 10 to 256 characters. Tip: use a passphrase of several words.',
})

/**
 * The state of the free credit of an account that signed up. `unverified`: granted once the email address is verified.
 * `granted`: in the ledger. The others say why there is none: the mailbox had one before, its network had enough for
 * the day, or the gateway reached its hourly limit.
 */
const FreeCredit = Type.Enum(['unverified', 'granted', 'mailbox_used', 'network_used', 'budget_used'])
export type FreeCreditState = Static<typeof FreeCredit>

/**
 * POST /console/api/sign-up → 201 SessionView, or 409 `email_taken`. POST /console/api/sign-in → 200 SessionView,
 * 401 `invalid_credentials`, or 429 with `Retry-After` after too many attempts.
 */
export const CredentialsBody = Type.Object({ email: email('email'), password }, CLOSED)
export type CredentialsBody = Static<typeof CredentialsBody>
export const SignUpBody = Type.Object({ email: email('new-email'), password: newPassword }, CLOSED)

const Mails = Type.Object({
  /** The balance reaches the threshold, or is used up. */
  low_balance: Type.Boolean(),
  key_limit: Type.Boolean(),
  provider_key: Type.Boolean(),
  /** Off until it is turned on. */
  weekly_spend: Type.Boolean(),
} satisfies Record<MailPreference, TSchema>)

/** The signed-in person. */
export const PersonView = Type.Object({
  /** Id of the personal account. */
  id: Type.String(),
  email: Type.String(),
  /** Messages about events are sent to verified addresses only. */
  email_verified: Type.Boolean(),
  /** The kinds of event messages that the person receives. */
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
  /** The person's role on the account; `owner` on their own. */
  role: Type.Enum([...MEMBER_ROLES]),
}
export const ActableAccount = Type.Object(Actable)
export type ActableAccount = Static<typeof ActableAccount>

export const AccountView = Type.Object({
  ...Actable,
  /** A suspended account has no session: sign-in returns 403 `account_suspended`, and its sessions end (401). */
  state: Type.Enum(['free_credit', 'active', 'exhausted']),
  /** The credit this account started with; null: none. */
  free_credit_usd: nullable(Type.String()),
  /** The state of the free credit of a new account; null if none was offered. */
  free_credit: nullable(FreeCredit),
  created_at: Type.String(),
})

export const BalanceView = Type.Object({
  /** The balance in the ledger. */
  balance_usd: Type.String(),
  /** The spendable amount: the balance less the holds of running calls. */
  available_usd: Type.String(),
  held_usd: Type.String(),
  /** Owed for money that was taken back; normally 0.00. */
  owed_usd: Type.String(),
  /** At or below it the account receives `balance.low`; null: never. */
  low_balance_usd: nullable(Type.String()),
})
export type BalanceView = Static<typeof BalanceView>

/** GET /console/api/session → 200, or 401 `not_signed_in`. POST /console/api/sign-out → 204, always. */
export const SessionView = Type.Object({
  person: PersonView,
  /** The account that the session acts on: the person's own, or an organisation. */
  account: AccountView,
  permissions: Type.Array(Type.Enum([...PERMISSIONS])),
  /** The person's own account, then their organisations by name. */
  accounts: Type.Array(ActableAccount),
  balance: BalanceView,
})
export type SessionView = Static<typeof SessionView>

/**
 * POST /console/api/verify → 200 VerifiedView, without a session; 400 for a used or expired link. POST
 * /console/api/verification-mails → 204, 409 if the address is verified or there is no mail, 429 after too many.
 */
export const VerifyBody = Type.Object({ token: line('token', 1, 100) }, CLOSED)
export type VerifyBody = Static<typeof VerifyBody>

export const VerifiedView = Type.Object({
  /** Null: no credit depended on the verification. */
  free_credit: nullable(FreeCredit),
})
export type VerifiedView = Static<typeof VerifiedView>

/**
 * POST /console/api/password-resets → 202, whether or not the email has an account; 409 if there is no mail, 429 after
 * too many. POST /console/api/password-resets/use → 200 WaysInView; 400 for a used or expired link.
 */
export const PasswordResetBody = Type.Object({ email: email('email') }, CLOSED)
export type PasswordResetBody = Static<typeof PasswordResetBody>
export const NewPasswordBody = Type.Object({ token: line('token', 1, 100), password: newPassword }, CLOSED)
export type NewPasswordBody = Static<typeof NewPasswordBody>

/** The other ways to sign in besides the new password. Those of an account whose address was never verified are removed. */
export const WaysInView = Type.Object({
  /** Ids of the linked identity providers. */
  identities: Type.Array(Type.String()),
  passkeys: Type.Integer(),
  api_keys: Type.Integer(),
})
export type WaysInView = Static<typeof WaysInView>

/**
 * POST /console/api/email-changes → 202: a link is sent to the new address; 409 if it has an account or there is no
 * mail. POST /console/api/email-changes/confirm → 204, without a session; 400 for a used or expired link.
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
  /** Browser and system, such as `Firefox on Linux`; empty: unknown. */
  device: Type.String(),
  network_address: Type.String(),
  created_at: Type.String(),
  /** Accurate to some minutes. */
  last_used_at: Type.String(),
})
export type SessionEntry = Static<typeof SessionEntry>
export const SessionList = Type.Object({ data: Type.Array(SessionEntry) })
export type SessionList = Static<typeof SessionList>

/** POST /console/api/password → 204. Ends every other session of the account. */
export const PasswordBody = Type.Object({ current_password: password, new_password: newPassword }, CLOSED)
export type PasswordBody = Static<typeof PasswordBody>

/**
 * GET /console/api/account/export → 200: a JSON file. POST /console/api/account/delete → 204; 409 `conflict` while
 * calls or top-ups are not settled, and if a balance is left that was not forfeited. The same for the session's
 * organisation: GET /console/api/organisation/export and POST /console/api/organisation/delete.
 */
export const DeleteAccountBody = Type.Object(
  {
    current_password: password,
    /** The exact `balance_usd`, to forfeit it. */
    forfeit_usd: Type.Optional(Type.String({ maxLength: 40 })),
  },
  CLOSED,
)
export type DeleteAccountBody = Static<typeof DeleteAccountBody>

/** DELETE /console/api/cached-responses → 200 ClearedCache. */
export const ClearedCache = Type.Object({ deleted: Type.Integer() })

/** POST /console/api/session/account → 200 SessionView: later requests act on this account; 404 for an account of others. */
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
 * GET /console/api/live: an EventSource. `event: balance` with LiveBalance: at once, then whenever it changes; `event:
 * call` with Generation: a call of the account that settled, within about a second; `event: bye` with `{reason}` when
 * the session has ended or acts on another account: do not reconnect. Connections end after some minutes; the browser
 * reconnects automatically. At most 6 per account (429).
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

/** POST /admin/api/session → 201 OperatorSession; GET → 200 or 401; DELETE → 204. A separate cookie, 12 hours. */
export const OperatorSignInBody = Type.Object({ admin_key: line('admin_key', 1, 200) }, CLOSED)
export type OperatorSignInBody = Static<typeof OperatorSignInBody>

export const OperatorSession = Type.Object({
  operator_id: Type.String(),
  operator_name: Type.String(),
  role: OperatorRoleName,
  permissions: RolesByPermission,
  /** The admin key used for sign-in; null after single sign-on. */
  key_id: nullable(Type.String()),
  hint: nullable(Type.String()),
  expires_at: Type.String(),
})
export type OperatorSession = Static<typeof OperatorSession>

/** GET /admin/api/visitor → 200, always: the signed-in operator, or null, and the available ways to sign in. */
export const OperatorVisitor = Type.Object({
  session: nullable(OperatorSession),
  /** Name of the single sign-on; null: not configured. */
  single_sign_on: nullable(Type.String()),
  /** Whether sign-in with admin keys is possible. */
  admin_keys: Type.Boolean(),
})
export type OperatorVisitor = Static<typeof OperatorVisitor>
