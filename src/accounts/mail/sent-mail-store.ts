import { newId } from '../../core/kernel/ids.ts'
import { type IdPage, newestFirst, type Postgres } from '../../platform/postgres/postgres.ts'
import type { SentMail as SentMailRow } from '../../platform/prisma-client/client.ts'
import type { MailTemplate } from './mail-message.ts'

/** `refused`: the mail server does not know the recipient; `failed`: every attempt failed. */
export type MailOutcome = 'sent' | 'refused' | 'failed'

export type SentMail = SentMailRow

/** Which messages were sent to whom, without their texts, whose links are secret. */
export type SentMailStore = ReturnType<typeof createSentMailStore>

export function createSentMailStore(postgres: Pick<Postgres, 'sentMail'>) {
  return {
    async add(mail: {
      accountId: string
      kind: MailTemplate
      recipient: string
      outcome: MailOutcome
    }): Promise<void> {
      await postgres.sentMail.create({ data: { id: newId('mail'), ...mail } })
    },

    /** Those about an account or to the email of its holder, newest first, after a message's id. */
    page: ({
      accountId,
      email,
      ...page
    }: { accountId: string; email: string | null } & IdPage): Promise<SentMail[]> =>
      postgres.sentMail.findMany(
        newestFirst(page, { OR: [{ accountId }, ...(email === null ? [] : [{ recipient: email }])] }),
      ),
  }
}

const PRUNED_AT_ONCE = 10_000

/** Deletes what is older than ninety days. */
export async function pruneSentMails(postgres: Postgres): Promise<void> {
  let deleted: number
  do {
    deleted = await postgres.$executeRaw`
      DELETE FROM sent_mails WHERE id IN (
        SELECT id FROM sent_mails WHERE created_at < now() - interval '90 days' LIMIT ${PRUNED_AT_ONCE})`
  } while (deleted === PRUNED_AT_ONCE)
}
