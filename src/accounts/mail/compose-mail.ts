import { NOTICES } from '../../core/accounts/notice.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { MailJob } from '../../platform/queues/queues.ts'
import { issueInvitation } from '../account-invitation.ts'
import { accountName } from '../account-store.ts'
import type { EmailTokenStore, IssuedToken } from '../email-token-store.ts'
import type { EventMailStore } from './event-mail-store.ts'
import { eventMessage } from './event-message.ts'
import { inWords, type MailTemplate, mailMessage, type TemplateMail } from './mail-message.ts'

export interface MailSources {
  postgres: Pick<Postgres, 'account' | 'apiKey' | 'emailChange' | 'organisationInvitation' | 'providerKey'>
  tokens: Pick<EmailTokenStore, 'issue' | 'issueVerification'>
  eventMails: Pick<EventMailStore, 'find' | 'finish'>
  /** Base URL of links, without a trailing slash. */
  publicUrl: string
}

/** A message, and the account that it is about: mostly its recipient's. */
export interface ComposedMail {
  accountId: string
  message: TemplateMail
}

/**
 * Builds the message of a job at the time of sending; null if nothing is to be sent. Tokens of links follow `#`:
 * browsers do not send that part, so no server logs it.
 */
export async function composeMail(job: MailJob, sources: MailSources): Promise<ComposedMail | null> {
  const { postgres, tokens, eventMails, publicUrl: site } = sources
  /** A message to `email` with a link; `path` is the page that it opens. */
  const withLink = (accountId: string, template: MailTemplate, path: string, issued: IssuedToken) => ({
    accountId,
    message: mailMessage(template, issued.email, { site, link: `${site}/${path}#${issued.token}` }),
  })
  switch (job.kind) {
    case 'verify_email': {
      const issued = await tokens.issueVerification(job.accountId)
      return issued && withLink(job.accountId, 'verify-email', 'verify', issued)
    }
    case 'reset_password': {
      const account = job.accountId === null ? null : await findAccount(postgres, job.accountId)
      if (!account?.email || account.state === 'suspended') return null
      const issued = await tokens.issue(account.id, 'reset_password', account.email)
      return withLink(account.id, 'reset-password', 'reset', issued)
    }
    case 'account_opened': {
      const account = await findAccount(postgres, job.accountId)
      if (!account?.email || account.state === 'suspended') return null
      const issued = await issueInvitation(tokens, account.id, account.email)
      return withLink(account.id, 'account-opened', 'reset', issued)
    }
    case 'change_email': {
      const change = await postgres.emailChange.findUnique({ where: { id: job.changeId } })
      if (!change || change.confirmedAt !== null) return null
      const issued = await tokens.issue(change.accountId, 'change_email', change.newEmail)
      return withLink(change.accountId, 'change-email', 'email', issued)
    }
    case 'email_changed': {
      const change = await postgres.emailChange.findUnique({ where: { id: job.changeId } })
      if (!change?.confirmedAt) return null
      const time = inWords(change.confirmedAt)
      const message = mailMessage('email-changed', change.oldEmail, { site, email: change.newEmail, time })
      return { accountId: change.accountId, message }
    }
    case 'notice': {
      const account = await findAccount(postgres, job.accountId)
      if (!account?.email || !account.emailVerifiedAt) return null
      const facts = { site, what: NOTICES[job.notice], time: inWords(new Date(job.atMs)) }
      return { accountId: account.id, message: mailMessage('notice', account.email, facts) }
    }
    case 'invitation': {
      const found = await postgres.organisationInvitation.findUnique({ where: { id: job.invitationId } })
      if (!found || found.expiresAt.getTime() <= Date.now()) return null
      const [organisation, inviter] = await Promise.all(
        [found.accountId, found.invitedBy].map((id) => findAccount(postgres, id)),
      )
      if (!organisation || !inviter || organisation.state === 'suspended') return null
      const { token, email } = await tokens.issue(found.accountId, 'invitation', found.email)
      const message = mailMessage('invitation', email, {
        ...{ site, link: `${site}/invitation#${token}`, role: found.role },
        ...{ organisation: accountName(organisation), inviter: accountName(inviter) },
      })
      return { accountId: found.accountId, message }
    }
    case 'provider_key_added': {
      const [account, added, by] = await Promise.all([
        findAccount(postgres, job.accountId),
        postgres.providerKey.findUnique({ where: { id: job.providerKeyId }, include: { account: true } }),
        authorOf(postgres, job.by),
      ])
      if (!account?.email || !account.emailVerifiedAt || account.state === 'suspended' || !added) return null
      const message = mailMessage('provider-key-added', account.email, {
        ...{ site, by, provider: added.providerId, time: inWords(added.createdAt) },
        ...{ account: accountName(added.account), key: added.name || added.id },
      })
      return { accountId: added.accountId, message }
    }
    case 'event': {
      const event = await eventMails.find(job)
      return event && { accountId: event.accountId, message: eventMessage(event, site) }
    }
    default:
      return job satisfies never
  }
}

/** Removes the data of a job whose message was sent or never will be. */
export async function finishMail(job: MailJob, { postgres, eventMails }: MailSources): Promise<void> {
  if (job.kind === 'event') await eventMails.finish(job)
  // The old address is stored only for its message.
  if (job.kind === 'email_changed') await postgres.emailChange.deleteMany({ where: { id: job.changeId } })
}

const findAccount = (postgres: Pick<Postgres, 'account'>, id: string) =>
  postgres.account.findUnique({ where: { id } })

/** A person's address, or an API key's name. */
async function authorOf(postgres: Pick<Postgres, 'account' | 'apiKey'>, id: string): Promise<string> {
  const person = await findAccount(postgres, id)
  if (person) return accountName(person)
  const key = await postgres.apiKey.findUnique({ where: { id } })
  return key ? `The API key "${key.name}" (${key.prefix}…${key.suffix})` : 'Somebody'
}
