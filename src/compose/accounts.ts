import { randomBytes } from 'node:crypto'
import { createAccountActionStore } from '../accounts/account-action-store.ts'
import { createHasHolder } from '../accounts/account-holder.ts'
import { createInvite } from '../accounts/account-invitation.ts'
import { createAccountDirectory, createAccountStore } from '../accounts/account-store.ts'
import { createCredentialStore } from '../accounts/credential-store.ts'
import { createEmailChange } from '../accounts/email-change.ts'
import { createEmailTokenStore } from '../accounts/email-token-store.ts'
import { createEmailVerification } from '../accounts/email-verification.ts'
import { createFreeCreditBudget, createFreeCredits } from '../accounts/free-credit.ts'
import { createIdentityProvider } from '../accounts/identity/identity-provider.ts'
import { createIdentityStore } from '../accounts/identity/identity-store.ts'
import { createOauthSignIn } from '../accounts/identity/oauth-sign-in.ts'
import { createApplySignInRules } from '../accounts/identity/sign-in-rules.ts'
import { createKeyHasher } from '../accounts/key-hash.ts'
import { createKeyStore, editKey as storeKeyEdit } from '../accounts/key-store.ts'
import { createByokKeyMail } from '../accounts/mail/byok-key-mail.ts'
import { createNotify } from '../accounts/mail/notify.ts'
import { createSentMailStore } from '../accounts/mail/sent-mail-store.ts'
import { createMakeSpendable } from '../accounts/make-spendable.ts'
import { createOperatorSignIn } from '../accounts/operators/operator-sign-in.ts'
import { createOperatorStore } from '../accounts/operators/operator-store.ts'
import { createInvitationStore } from '../accounts/organisation/invitation-store.ts'
import { createInvitations } from '../accounts/organisation/invitations.ts'
import { createMemberStore } from '../accounts/organisation/member-store.ts'
import { createOrganisationStore } from '../accounts/organisation/organisation-store.ts'
import { createPasswordCheck } from '../accounts/password-check.ts'
import { createPasswordHasher } from '../accounts/password-hash.ts'
import { createPasswordReset } from '../accounts/password-reset.ts'
import { createPresetStore, PRESET_PURPOSE } from '../accounts/presets/preset-store.ts'
import { createPasskeys } from '../accounts/second-factor/passkeys.ts'
import { createRecoveryCodes } from '../accounts/second-factor/recovery-codes.ts'
import { createSecondFactor } from '../accounts/second-factor/second-factor.ts'
import { createTotpStore, TOTP_PURPOSE } from '../accounts/second-factor/totp.ts'
import { createAccountDeletion } from '../accounts/self-service/account-deletion.ts'
import { createAccountExport } from '../accounts/self-service/account-export.ts'
import { createBudgetChange, createMonthlyBudgets } from '../accounts/self-service/budget-change.ts'
import { createEditKey } from '../accounts/self-service/edit-key.ts'
import { createGroupBudgets } from '../accounts/self-service/group-budgets.ts'
import { createSessionStore, OPERATOR_SESSION_MS } from '../accounts/session-store.ts'
import { createSignInService } from '../accounts/sign-in-service.ts'
import { createSignInSteps } from '../accounts/sign-in-steps.ts'
import { createSignInThrottle } from '../accounts/sign-in-throttle.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import { createByokKeyStore } from '../byok/byok-key-store.ts'
import { createPromptLogStore, PROMPT_LOG_PURPOSE } from '../calls/prompt-logs/prompt-log-store.ts'
import { createClearCachedResponses } from '../calls/protocol/response-cache.ts'
import {
  createStoredResponseStore,
  STORED_RESPONSE_PURPOSE,
} from '../calls/stored-responses/stored-response-store.ts'
import type { Config } from '../config.ts'
import { GUARDRAIL_PURPOSE } from '../core/guardrails/guardrail.ts'
import { parseUsd } from '../core/kernel/money.ts'
import { DAY_MS } from '../core/kernel/time.ts'
import { createGuardrailStore } from '../guardrails/guardrail-store.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { enqueueMails, type MailJob, type MailQueue } from '../platform/queues/queues.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { createSealer } from '../platform/sealing.ts'
import { createDeliveryLog, createRetryDelivery } from '../webhooks/delivery-log.ts'
import { createEndpointStore, WEBHOOK_SECRET_PURPOSE } from '../webhooks/endpoint-store.ts'
import type { Billing } from './billing.ts'

/** Prompt logs, and stored responses, of one account. */
const LOG_BYTES_PER_ACCOUNT = 512 * 1024 * 1024
/** A session of the console ends after this. */
const SESSION_MS = 30 * DAY_MS

/** The clients of accounts and operators; the caller owns and closes them. */
export interface AccountClients {
  postgres: Postgres
  /** A separate pool for reading many rows. */
  reportsPostgres: Postgres
  /** For reports that may be outdated. */
  reportsReplica: Postgres
  /** A separate pool for stored responses, whose values are long. */
  responsesPostgres: Postgres
  redis: Redis
  /** Announces a change of a key or account to every process. */
  announce: (change: KeyChange) => Promise<void>
  logger: Logger
  clock: () => number
}

export type Accounts = ReturnType<typeof composeAccounts>

/** Accounts, keys, members and what they store. The HTTP API and the commands share them. */
export function composeAccounts(config: Readonly<Config>, clients: AccountClients, billing: Billing) {
  const { postgres, redis, reportsPostgres, reportsReplica, responsesPostgres, announce, clock } = clients
  const { masterKeys } = config
  const { holds, ledger } = billing
  const seal = (purpose: string) => createSealer(masterKeys, purpose)
  const announceAccount = (accountId: string) => announce({ accountId })
  const lowBalancePico = parseUsd(config.lowBalanceUsd)
  const logs = { bytesPerAccount: LOG_BYTES_PER_ACCOUNT, bytesInAll: config.promptLogBytesInAll }
  const accounts = createAccountStore(postgres, postLedger, lowBalancePico)
  const members = createMemberStore(postgres)
  const applyBudgetChange = createBudgetChange({ announce, forgetAllowance: holds.forgetAllowance })
  const deliveries = createDeliveryLog(postgres)
  const promptLogStore = createPromptLogStore(postgres, seal(PROMPT_LOG_PURPOSE), logs)
  const presets = createPresetStore({ postgres, announceAccount, sealer: seal(PRESET_PURPOSE) })
  return {
    ...{ accounts, members, deliveries, promptLogStore, presets },
    hasHolder: createHasHolder(postgres),
    accountActions: createAccountActionStore(postgres),
    organisations: createOrganisationStore(postgres, lowBalancePico),
    directory: createAccountDirectory(reportsPostgres),
    credentials: createCredentialStore(postgres),
    passwords: createPasswordHasher(),
    factors: {
      totp: createTotpStore(postgres, seal(TOTP_PURPOSE), clock),
      passkeys: createPasskeys(postgres),
      codes: createRecoveryCodes(postgres),
    },
    keys: createKeyStore(postgres, createKeyHasher(masterKeys), randomBytes),
    editKey: createEditKey({
      store: (keyId, decide) => storeKeyEdit(postgres, keyId, decide),
      ...{ applyBudgetChange, announce, clock },
    }),
    monthlyBudgets: createMonthlyBudgets({ accounts, members, applyBudgetChange, clock }),
    groupBudgets: createGroupBudgets({ postgres, applyBudgetChange, clock }),
    operators: createOperatorStore(postgres),
    byokKeys: createByokKeyStore({ postgres, masterKeys, announceAccount }),
    endpoints: createEndpointStore(postgres, seal(WEBHOOK_SECRET_PURPOSE), randomBytes),
    guardrails: createGuardrailStore({
      ...{ postgres, announceAccount, randomBytes },
      sealer: seal(GUARDRAIL_PURPOSE),
      allowPrivate: config.webhooksAllowPrivate,
    }),
    retryDelivery: createRetryDelivery(postgres, deliveries),
    storedResponses: createStoredResponseStore(responsesPostgres, seal(STORED_RESPONSE_PURPOSE), logs),
    sentMails: createSentMailStore(postgres),
    clearCachedResponses: createClearCachedResponses(redis),
    accountExport: createAccountExport({
      ...{ postgres: reportsReplica, ledger },
      latestPromptLogs: promptLogStore.latest,
      presets: presets.list,
    }),
  }
}

/** The services of sign-up, sign-in, email and free credit. */
export function composeSignIn(
  config: Readonly<Config>,
  clients: AccountClients & { mailQueue: MailQueue },
  { holds, adjustBalance, payments }: Billing,
  accounts: Accounts,
) {
  const { postgres, redis, logger, clock, mailQueue } = clients
  const { operatorProvider } = config
  const isDelivered = config.mail?.transport.kind === 'smtp'
  const enqueue = (job: MailJob) => enqueueMails(mailQueue, [job])
  /** Null if there is no mail. */
  const ifMail = <T>(value: T): T | null => (config.mail === null ? null : value)
  const stores = { ...clients, ...accounts, ...accounts.factors, sessionMs: SESSION_MS }
  const sessions = createSessionStore(postgres)
  const steps = createSignInSteps(postgres)
  const tokens = createEmailTokenStore(postgres)
  const throttle = createSignInThrottle(redis, config)
  const freeCredits = createFreeCredits({
    ...{ postgres, postLedger, logger },
    budget: createFreeCreditBudget(
      redis,
      { ...config, budgetPico: parseUsd(config.freeCreditBudgetUsd) },
      Date.now,
    ),
    amountPico: parseUsd(config.freeCreditUsd),
    // Anyone who can read the folder can read every message, so a link in it proves nothing.
    awaitsVerification: isDelivered,
  })
  const makeSpendable = createMakeSpendable({
    ...stores,
    loadBalance: (account) => holds.apply(account.id, account, []),
  })
  const notify = createNotify(
    ifMail((accountId, notice) => enqueue({ kind: 'notice', accountId, notice, atMs: clock() })),
    logger,
  )
  const passwordCheck = createPasswordCheck({ ...stores, throttle })
  const shared = {
    ...{ ...stores, sessions, steps, tokens, throttle, freeCredits, makeSpendable, notify, passwordCheck },
  }
  const verification = ifMail(
    createEmailVerification({
      ...shared,
      enqueue: (accountId) => enqueue({ kind: 'verify_email', accountId }),
    }),
  )
  const invitationStore = createInvitationStore(postgres, tokens)
  const secondFactor = createSecondFactor(shared)
  const signIn = createSignInService({ ...shared, secondFactor, verification })
  return {
    ...{ sessions, sessionMs: SESSION_MS, isDelivered, throttle, freeCredits },
    ...{ verification, invitationStore, secondFactor, signIn },
    passwordReset: createPasswordReset({
      ...shared,
      enqueue: ifMail((accountId) => enqueue({ kind: 'reset_password', accountId })),
    }),
    emailChange: ifMail(createEmailChange({ ...shared, enqueue })),
    mailByokKeyAdded: createByokKeyMail({
      ...shared,
      enqueue: ifMail((jobs) => enqueueMails(mailQueue, jobs)),
    }),
    /** Messages in a folder are not delivered. */
    invite: createInvite({
      tokens,
      enqueue: isDelivered ? (accountId) => enqueue({ kind: 'account_opened', accountId }) : null,
    }),
    invitations: createInvitations({
      ...{ store: invitationStore, throttle, isDelivered },
      enqueue: ifMail((invitationId) => enqueue({ kind: 'invitation', invitationId })),
    }),
    accountDeletion: createAccountDeletion({
      ...{ ...shared, holds, adjustBalance },
      forgetCards: payments.cards.forget,
    }),
    operatorSignIn:
      operatorProvider &&
      createOperatorSignIn({
        ...shared,
        provider: createIdentityProvider(operatorProvider),
        issuer: operatorProvider.issuer,
        sessionMs: OPERATOR_SESSION_MS,
      }),
    oauth: createOauthSignIn({
      ...{ ...shared, signIn },
      providers: config.signInProviders.map(createIdentityProvider),
      identities: createIdentityStore(postgres),
      applySignInRules: createApplySignInRules(shared),
      signUpClosed: config.signUpClosed,
    }),
  }
}
