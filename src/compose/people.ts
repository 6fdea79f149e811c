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
import { createSessionStore, OPERATOR_SESSION_MS } from '../accounts/session-store.ts'
import { createSignInService } from '../accounts/sign-in-service.ts'
import { createSignInSteps } from '../accounts/sign-in-steps.ts'
import { createSignInThrottle } from '../accounts/sign-in-throttle.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import { createByokKeyStore } from '../byok/byok-key-store.ts'
import { createPromptLogStore, PROMPT_LOG_PURPOSE } from '../calls/prompt-logs/prompt-log-store.ts'
import {
  createStoredResponseStore,
  STORED_RESPONSE_PURPOSE,
} from '../calls/stored-responses/stored-response-store.ts'
import { readRateHistory } from '../catalog/rate-history-store.ts'
import type { Config } from '../config.ts'
import { parseUsd } from '../core/kernel/money.ts'
import { DAY_MS } from '../core/kernel/time.ts'
import { createAccountManagement } from '../operators/account-management.ts'
import { createAccountOpening } from '../operators/account-opening.ts'
import { createAlarmDestinationStore, DESTINATION_PURPOSE } from '../operators/alarm-destination-store.ts'
import { createAlarmDestinations } from '../operators/alarm-destinations.ts'
import { createAlarmStore } from '../operators/alarm-store.ts'
import { createAuditLog } from '../operators/audit-log.ts'
import { createGatewaySettings } from '../operators/gateway-settings.ts'
import { createKeyManagement } from '../operators/key-management.ts'
import { createOfferManagement } from '../operators/offer-management.ts'
import { createOperatorManagement } from '../operators/operator-management.ts'
import { createSettlementDecisions } from '../operators/settlement-decisions.ts'
import { createSurfaceGrantStore } from '../operators/surface-grant-store.ts'
import { createSurfaceManagement } from '../operators/surface-management.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import { enqueueMails, type MailJob, type MailQueue } from '../platform/queues/queues.ts'
import type { KeyChange } from '../platform/redis/key-changes.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { createSealer } from '../platform/sealing.ts'
import { createDeliveryLog, createRetryDelivery } from '../webhooks/delivery-log.ts'
import { createEndpointStore, WEBHOOK_SECRET_PURPOSE } from '../webhooks/endpoint-store.ts'
import type { Money } from './money.ts'

/** Prompt logs, and stored responses, of one account. */
const LOG_BYTES_PER_ACCOUNT = 512 * 1024 * 1024
/** A session of the console ends after this. */
const SESSION_MS = 30 * DAY_MS

/** The clients of the people services; the caller owns and closes them. */
export interface PeopleClients {
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

export type People = ReturnType<typeof composePeople>

/** Accounts, keys, members and operators, and the actions on them. The HTTP API and the commands share them. */
export function composePeople(config: Readonly<Config>, clients: PeopleClients, money: Money) {
  const { postgres, reportsPostgres, reportsReplica, responsesPostgres, redis, announce, logger, clock } =
    clients
  const { masterKeys } = config
  const { holds, ledger } = money
  const accounts = createAccountStore(postgres, postLedger, parseUsd(config.lowBalanceUsd))
  const directory = createAccountDirectory(reportsPostgres)
  const credentials = createCredentialStore(postgres)
  const passwords = createPasswordHasher()
  const keys = createKeyStore(postgres, createKeyHasher(masterKeys), randomBytes)
  const operators = createOperatorStore(postgres)
  const factors = {
    totp: createTotpStore(postgres, createSealer(masterKeys, TOTP_PURPOSE), clock),
    passkeys: createPasskeys(postgres),
    codes: createRecoveryCodes(postgres),
  }
  const members = createMemberStore(postgres)
  const applyBudgetChange = createBudgetChange({ announce, forgetAllowance: holds.forgetAllowance })
  const editKey = createEditKey({
    store: (keyId, decide) => storeKeyEdit(postgres, keyId, decide),
    ...{ applyBudgetChange, announce, clock },
  })
  const deliveries = createDeliveryLog(postgres)
  const promptLogs = createPromptLogStore(postgres, createSealer(masterKeys, PROMPT_LOG_PURPOSE), {
    bytesPerAccount: LOG_BYTES_PER_ACCOUNT,
    bytesInAll: config.promptLogBytesInAll,
  })
  const storedResponses = createStoredResponseStore(
    responsesPostgres,
    createSealer(masterKeys, STORED_RESPONSE_PURPOSE),
    { bytesPerAccount: LOG_BYTES_PER_ACCOUNT, bytesInAll: config.promptLogBytesInAll },
  )
  const announceAccount = (accountId: string) => announce({ accountId })
  const presets = createPresetStore({
    ...{ postgres, announceAccount },
    sealer: createSealer(masterKeys, PRESET_PURPOSE),
  })
  const auditLog = createAuditLog(postgres, logger)
  const shared = { ...money, accounts, directory, credentials, passwords, factors, keys, editKey, operators }
  const audited = { ...shared, announce, auditedAction: auditLog.auditedAction, clock }
  return {
    accounts,
    hasHolder: createHasHolder(postgres),
    accountActions: createAccountActionStore(postgres),
    members,
    organisations: createOrganisationStore(postgres, parseUsd(config.lowBalanceUsd)),
    directory,
    credentials,
    passwords,
    factors,
    keys,
    editKey,
    monthlyBudgets: createMonthlyBudgets({ accounts, members, applyBudgetChange, clock }),
    operators,
    byokKeys: createByokKeyStore({ postgres, masterKeys, announceAccount }),
    presets,
    endpoints: createEndpointStore(postgres, createSealer(masterKeys, WEBHOOK_SECRET_PURPOSE), randomBytes),
    deliveries,
    retryDelivery: createRetryDelivery(postgres, deliveries),
    auditLog,
    promptLogs,
    storedResponses,
    alarms: createAlarmStore(postgres),
    sentMails: createSentMailStore(postgres),
    alarmDestinations: createAlarmDestinations({
      ...audited,
      store: createAlarmDestinationStore(postgres, createSealer(masterKeys, DESTINATION_PURPOSE)),
      allowPrivate: config.alarmsAllowPrivate,
      hasMail: config.mail !== null,
    }),
    settings: createGatewaySettings(postgres, audited.auditedAction, clock),
    accountExport: createAccountExport({
      ...{ postgres: reportsReplica, ledger },
      latestPromptLogs: promptLogs.latest,
      presets: presets.list,
    }),
    /** Newest first. */
    rateHistory: (modelId: string, limit: number) => readRateHistory(reportsPostgres, modelId, limit),
    accountManagement: createAccountManagement(audited),
    keyManagement: createKeyManagement(audited),
    operatorManagement: createOperatorManagement(audited),
    offerManagement: createOfferManagement(redis, audited.auditedAction, logger),
    surfaceManagement: createSurfaceManagement({
      ...audited,
      grants: createSurfaceGrantStore(postgres),
      auditLog,
    }),
    settlementDecisions: createSettlementDecisions(audited),
  }
}

/** The services of sign-up, sign-in, email and free credit. */
export function composeSignIn(
  config: Readonly<Config>,
  clients: PeopleClients & { mailQueue: MailQueue },
  { holds, adjustBalance, payments }: Money,
  people: People,
) {
  const { accounts, credentials, members, operators, passwords, factors } = people
  const { postgres, redis, announce, logger, clock, mailQueue } = clients
  const sessions = createSessionStore(postgres)
  const throttle = createSignInThrottle(redis, config)
  const budgetPico = parseUsd(config.freeCreditBudgetUsd)
  const freeCredits = createFreeCredits({
    postgres,
    postLedger,
    budget: createFreeCreditBudget(redis, { ...config, budgetPico }, Date.now),
    amountPico: parseUsd(config.freeCreditUsd),
    // Anyone who can read the folder can read every message, so a link in it proves nothing.
    awaitsVerification: config.mail?.transport.kind === 'smtp',
    logger,
  })
  const makeSpendable = createMakeSpendable({
    accounts,
    loadBalance: (account) => holds.apply(account.id, account, []),
    logger,
  })
  const tokens = createEmailTokenStore(postgres)
  const enqueue = (job: MailJob) => enqueueMails(mailQueue, [job])
  const hasMail = config.mail !== null
  const notify = createNotify(
    hasMail ? (accountId, notice) => enqueue({ kind: 'notice', accountId, notice, atMs: clock() }) : null,
    logger,
  )
  const passwordCheck = createPasswordCheck({ credentials, passwords, throttle })
  const shared = {
    postgres,
    credentials,
    passwords,
    passwordCheck,
    tokens,
    freeCredits,
    throttle,
    makeSpendable,
    notify,
  }
  const verification = hasMail
    ? createEmailVerification({
        ...shared,
        enqueue: (accountId) => enqueue({ kind: 'verify_email', accountId }),
      })
    : null
  const passwordReset = createPasswordReset({
    ...shared,
    announce,
    enqueue: hasMail ? (accountId) => enqueue({ kind: 'reset_password', accountId }) : null,
  })
  // Messages in a folder are not delivered.
  const isDelivered = config.mail?.transport.kind === 'smtp'
  const invite = createInvite({
    tokens,
    enqueue: isDelivered ? (accountId) => enqueue({ kind: 'account_opened', accountId }) : null,
  })
  const invitationStore = createInvitationStore(postgres, tokens)
  const invitations = createInvitations({
    store: invitationStore,
    throttle,
    enqueue: hasMail ? (invitationId) => enqueue({ kind: 'invitation', invitationId }) : null,
    isDelivered,
  })
  const emailChange = hasMail ? createEmailChange({ ...shared, enqueue }) : null
  const { passkeys, totp, codes } = factors
  const steps = createSignInSteps(postgres)
  const secondFactor = createSecondFactor({ ...shared, totp, passkeys, codes, steps })
  const signIn = createSignInService({
    ...shared,
    ...{ accounts, sessions, steps, secondFactor, passkeys, verification, logger, sessionMs: SESSION_MS },
  })
  return {
    sessions,
    secondFactor,
    sessionMs: SESSION_MS,
    isDelivered,
    throttle,
    freeCredits,
    verification,
    passwordReset,
    accountOpening: createAccountOpening({
      ...people,
      ...{ invite, isDelivered },
      auditedAction: people.auditLog.auditedAction,
    }),
    emailChange,
    mailByokKeyAdded: createByokKeyMail({
      enqueue: hasMail ? (jobs) => enqueueMails(mailQueue, jobs) : null,
      ...{ postgres, members, clock, logger },
    }),
    invitationStore,
    invitations,
    signIn,
    accountDeletion: createAccountDeletion({
      ...{ postgres, holds, members, passwordCheck, announce, logger },
      adjustBalance,
      forgetCards: payments.cards.forget,
    }),
    operatorSignIn:
      config.operatorProvider &&
      createOperatorSignIn({
        ...{ operators, sessions, steps, throttle, logger },
        provider: createIdentityProvider(config.operatorProvider),
        issuer: config.operatorProvider.issuer,
        sessionMs: OPERATOR_SESSION_MS,
      }),
    oauth: createOauthSignIn({
      ...shared,
      ...{ accounts, steps, signIn, logger },
      providers: config.signInProviders.map(createIdentityProvider),
      identities: createIdentityStore(postgres),
      signUpClosed: config.signUpClosed,
    }),
  }
}
