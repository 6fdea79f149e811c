import type { MailMessage } from '../../platform/network/mailer.ts'
import type { MailJob } from '../../platform/queues/queues.ts'
import type { EmailTokenStore } from '../email-token-store.ts'
import type { EventMailStore } from './event-mail-store.ts'
import { eventMessage } from './event-message.ts'
import { mailMessage } from './mail-message.ts'

export interface MailSources {
  tokens: Pick<EmailTokenStore, 'issueVerification'>
  eventMails: Pick<EventMailStore, 'find'>
  /** Where links lead, without a slash at the end. */
  publicUrl: string
}

/**
 * The message of a job, made when it is sent; null if nothing is to be sent any more. Tokens of links are behind `#`:
 * browsers do not send that part, so no server logs it.
 */
export async function composeMail(job: MailJob, sources: MailSources): Promise<MailMessage | null> {
  const { tokens, eventMails, publicUrl: site } = sources
  switch (job.kind) {
    case 'verify_email': {
      const issued = await tokens.issueVerification(job.accountId)
      return (
        issued && mailMessage('verify-email', issued.email, { site, link: `${site}/verify#${issued.token}` })
      )
    }
    case 'event': {
      const event = await eventMails.find(job.eventId)
      return event && eventMessage(event, site)
    }
    default:
      return job satisfies never
  }
}
