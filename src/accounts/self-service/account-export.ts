import {
  type LedgerLine,
  type LedgerListStore,
  positionAfter,
  readLedgerCursor,
} from '../../billing/ledger/ledger-list-store.ts'
import { responseIdOf } from '../../core/kernel/ids.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoTime } from '../../core/kernel/time.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { AutoTopUp } from '../../platform/prisma-client/client.ts'
import type { Account } from '../account-store.ts'

const LEDGER_PAGE = 500
const LEDGER_LINES_MAX = 50_000
const ROWS_MAX = 10_000

export type AccountExport = ReturnType<typeof createAccountExport>

/**
 * Exports all stored data of an account and its holder, except secrets, which cannot be read, and calls, which are
 * exported as CSV.
 */
export function createAccountExport(deps: {
  postgres: Postgres
  ledger: Pick<LedgerListStore, 'page'>
  /** The latest prompt logs of an account, decrypted. */
  latestPromptLogs: (accountId: string) => Promise<object[]>
  /** The latest version of each preset of an account. */
  presets: (accountId: string) => Promise<object[]>
}) {
  const { postgres, ledger, latestPromptLogs, presets } = deps

  const ledgerLines = async (accountId: string): Promise<LedgerLine[]> => {
    const lines: LedgerLine[] = []
    let after = readLedgerCursor(undefined)
    while (lines.length < LEDGER_LINES_MAX) {
      const page = await ledger.page(accountId, after, LEDGER_PAGE)
      lines.push(...page)
      if (page.length < LEDGER_PAGE) break
      after = positionAfter(page, after)
    }
    return lines
  }

  return async (account: Account) => {
    const accountId = account.id
    const ofAccount = { where: { accountId }, take: ROWS_MAX }
    const newestFirst = { ...ofAccount, orderBy: { createdAt: 'desc' as const } }
    return {
      account: {
        ...{
          id: accountId,
          name: account.name,
          email: account.email,
          email_verified_at: account.emailVerifiedAt,
        },
        ...{ state: account.state, created_at: account.createdAt },
        ...{ muted_mails: account.mutedMails, weekly_mail: account.weeklyMail },
        balance_usd: formatUsd(account.balancePico),
      },
      sign_in: {
        has_password: (await postgres.accountCredential.count({ where: { accountId } })) > 0,
        has_authenticator_app: (await postgres.accountTotp.count({ where: { accountId } })) > 0,
        passkeys: await postgres.passkey.findMany({
          ...newestFirst,
          select: { id: true, name: true, createdAt: true, lastUsedAt: true },
        }),
        linked_services: await postgres.identity.findMany({
          ...newestFirst,
          select: { provider: true, subject: true, email: true, createdAt: true },
        }),
        sessions: await postgres.consoleSession.findMany({
          ...newestFirst,
          select: {
            userAgent: true,
            networkAddress: true,
            createdAt: true,
            lastUsedAt: true,
            expiresAt: true,
          },
        }),
      },
      members: await postgres.organisationMember.findMany({
        ...newestFirst,
        select: { personId: true, role: true, createdAt: true, person: { select: { email: true } } },
      }),
      organisations: await postgres.organisationMember.findMany({
        where: { personId: accountId },
        take: ROWS_MAX,
        select: { accountId: true, role: true, createdAt: true, account: { select: { name: true } } },
      }),
      invitations: await postgres.organisationInvitation.findMany({
        ...newestFirst,
        select: { id: true, email: true, role: true, createdAt: true, expiresAt: true },
      }),
      activity: await postgres.accountAction.findMany({
        ...newestFirst,
        select: { personId: true, action: true, target: true, details: true, createdAt: true },
      }),
      api_keys: await postgres.apiKey.findMany({
        ...newestFirst,
        select: {
          id: true,
          name: true,
          prefix: true,
          suffix: true,
          state: true,
          createdAt: true,
          revokedAt: true,
        },
      }),
      provider_keys: await postgres.providerKey.findMany({
        ...newestFirst,
        select: { id: true, providerId: true, name: true, last4: true, createdAt: true },
      }),
      presets: await presets(accountId),
      webhooks: await postgres.webhookEndpoint.findMany({
        ...newestFirst,
        select: { id: true, url: true, eventTypes: true, enabled: true, createdAt: true },
      }),
      messages: await postgres.sentMail.findMany({
        ...newestFirst,
        select: { kind: true, recipient: true, outcome: true, createdAt: true },
      }),
      events: await postgres.event.findMany({
        ...newestFirst,
        select: { id: true, type: true, data: true, createdAt: true },
      }),
      top_ups: (
        await postgres.payment.findMany({
          ...newestFirst,
          select: { id: true, rail: true, state: true, amountPico: true, createdAt: true, settledAt: true },
        })
      ).map(({ amountPico, ...topUp }) => ({ ...topUp, amount_usd: formatUsd(amountPico) })),
      saved_card: await postgres.savedCard.findUnique({
        where: { accountId },
        select: { rail: true, brand: true, last4: true, expMonth: true, expYear: true, savedAt: true },
      }),
      billing_details: await postgres.billingDetails.findUnique({ where: { accountId } }),
      invoices: (
        await postgres.invoice.findMany({ ...ofAccount, orderBy: { id: 'desc' }, select: { document: true } })
      ).map(({ document }) => document),
      auto_top_up: autoTopUpOf(await postgres.autoTopUp.findUnique({ where: { accountId } })),
      ledger: (await ledgerLines(accountId)).map(({ amountPico, at, ...line }) => ({
        ...line,
        amount_usd: formatUsd(amountPico),
        at: isoTime(at),
      })),
      prompt_logs: await latestPromptLogs(accountId),
      // The content of the latest is a part of the file of its own; all are read with these.
      stored_response_ids: (
        await postgres.storedResponse.findMany({
          where: { accountId, expiresAt: { gt: new Date() } },
          orderBy: { callId: 'desc' },
          take: ROWS_MAX,
          select: { callId: true },
        })
      ).map(({ callId }) => responseIdOf(callId)),
      // Without the models, which `auto` does not disclose.
      feedback: (
        await postgres.callFeedback.findMany({
          where: { accountId },
          orderBy: { createdAt: 'desc' },
          take: ROWS_MAX,
          select: { callId: true, outcome: true, createdAt: true },
        })
      ).map(({ callId, outcome, createdAt }) => ({
        call_id: callId,
        score: outcome,
        at: isoTime(createdAt),
      })),
      calls: 'GET /console/api/calls.csv lists every call.',
    }
  }
}

const autoTopUpOf = (row: AutoTopUp | null) =>
  row && {
    ...{
      enabled: row.enabled,
      resumed_at: row.resumedAt,
      paused_at: row.pausedAt,
      pause_reason: row.pauseReason,
    },
    threshold_usd: formatUsd(row.thresholdPico),
    amount_usd: formatUsd(row.amountPico),
    monthly_maximum_usd: formatUsd(row.monthlyMaxPico),
  }
