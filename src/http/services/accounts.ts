import type { AccountActionStore } from '../../accounts/account-action-store.ts'
import type { AccountStore } from '../../accounts/account-store.ts'
import type { AccountThrottle } from '../../accounts/account-throttle.ts'
import type { EmailChange } from '../../accounts/email-change.ts'
import type { EmailVerification } from '../../accounts/email-verification.ts'
import type { FreeCredits } from '../../accounts/free-credit.ts'
import type { OauthSignIn } from '../../accounts/identity/oauth-sign-in.ts'
import type { KeyCache } from '../../accounts/key-cache.ts'
import type { KeyStore } from '../../accounts/key-store.ts'
import type { MailByokKeyAdded } from '../../accounts/mail/byok-key-mail.ts'
import type { InvitationStore } from '../../accounts/organisation/invitation-store.ts'
import type { Invitations } from '../../accounts/organisation/invitations.ts'
import type { MemberStore } from '../../accounts/organisation/member-store.ts'
import type { OrganisationStore } from '../../accounts/organisation/organisation-store.ts'
import type { PasswordReset } from '../../accounts/password-reset.ts'
import type { PresetStore } from '../../accounts/presets/preset-store.ts'
import type { SecondFactor } from '../../accounts/second-factor/second-factor.ts'
import type { AccountDeletion } from '../../accounts/self-service/account-deletion.ts'
import type { AccountExport } from '../../accounts/self-service/account-export.ts'
import type { MonthlyBudgets } from '../../accounts/self-service/budget-change.ts'
import type { EditKey } from '../../accounts/self-service/edit-key.ts'
import type { GroupBudgets } from '../../accounts/self-service/group-budgets.ts'
import type { SessionStore } from '../../accounts/session-store.ts'
import type { SignInService } from '../../accounts/sign-in-service.ts'
import type { SignInThrottle } from '../../accounts/sign-in-throttle.ts'
import type { ByokKeyChecker } from '../../byok/byok-key-checker.ts'
import type { ByokKeyStore } from '../../byok/byok-key-store.ts'
import type { Config } from '../../config.ts'
import type { LimitDefaults } from '../../core/accounts/api-key.ts'
import type { GuardrailStore } from '../../guardrails/guardrail-store.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { ReadDeliveries, RetryDelivery } from '../../webhooks/delivery-log.ts'
import type { EndpointStore } from '../../webhooks/endpoint-store.ts'
import type { SessionCookies } from '../session-cookie.ts'

declare module 'fastify' {
  interface FastifyInstance {
    accounts: ApiAccounts
  }
}

/** Accounts, the people of them and their sign-in, API keys and BYOK keys, presets and webhooks. */
export interface ApiAccounts {
  accounts: AccountStore
  accountActions: AccountActionStore
  accountExport: AccountExport
  /** Removes what the response cache has of an account, and returns how many. */
  clearCachedResponses: (accountId: string) => Promise<number>
  accountDeletion: AccountDeletion
  organisations: OrganisationStore
  members: MemberStore
  invitationStore: InvitationStore
  invitations: Invitations
  monthlyBudgets: MonthlyBudgets
  groupBudgets: GroupBudgets
  freeCredits: FreeCredits
  sessions: SessionStore
  /** How long a session lasts. */
  sessionMs: number
  cookies: SessionCookies
  signIn: SignInService
  oauth: OauthSignIn
  secondFactor: SecondFactor
  passwordReset: PasswordReset
  /** Null: there is no mail. */
  verification: EmailVerification | null
  emailChange: EmailChange | null
  /** Whether mail reaches people, instead of a folder. */
  isDelivered: boolean
  throttle: SignInThrottle
  throttleAccount: AccountThrottle
  keys: KeyStore
  keyCache: KeyCache
  editKey: EditKey
  /** Announces a change of a key or account to every process. */
  announce: (change: KeyChange) => Promise<void>
  byokKeys: ByokKeyStore
  keyChecker: ByokKeyChecker
  mailByokKeyAdded: MailByokKeyAdded
  presets: PresetStore
  endpoints: EndpointStore
  guardrails: GuardrailStore
  deliveries: ReadDeliveries
  retryDelivery: RetryDelivery
  publicUrl: string | null
  /** The limits of keys and accounts that set none, and the fee of calls on BYOK keys. */
  limits: LimitDefaults & Pick<Config, 'tokensPerMinute' | 'byokFeePercent'>
  config: Pick<Config, 'freeCreditUsd' | 'signUpClosed' | 'signInProviders' | 'mail' | 'webhooksAllowPrivate'>
  logger: Logger
  /** The fleet's. */
  clock: () => number
}
