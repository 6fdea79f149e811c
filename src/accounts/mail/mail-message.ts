import { readFileSync } from 'node:fs'
import type { MailMessage } from '../../platform/network/mailer.ts'

/** The templates: the subject, an empty line, the text with `{{facts}}`. */
const NAMES = [
  'verify-email',
  'reset-password',
  'account-opened',
  'change-email',
  'email-changed',
  'notice',
  'invitation',
  'balance-low',
  'balance-exhausted',
  'receipt',
  'auto-top-up-paused',
  'key-limit-reached',
  'member-budget-reached',
  'spend-cap-reached',
  'group-budget-reached',
  'budget-warning',
  'provider-key-failing',
  'provider-key-added',
  'weekly-spend',
] as const
export type MailTemplate = (typeof NAMES)[number]

const TEMPLATES = new Map(
  NAMES.map((name) => [name, readFileSync(new URL(`./templates/${name}.txt`, import.meta.url), 'utf8')]),
)

/** Facts come from users and providers: each is limited to one line, a maximum length, and no address that could be linked. */
const FACT_LENGTH_MAX = 500

/** Facts that hold addresses of the gateway. */
const LINKED_FACTS = ['site', 'link']

/**
 * A text of a user or a provider as messages show it. Mail clients link what looks like an address, also in plain text, and
 * the message is from the gateway's own sender: one in a name is written so that none does.
 */
export const shownFact = (fact: string): string =>
  fact
    .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
    .slice(0, FACT_LENGTH_MAX)
    .replace(/\S*:\/\/\S*/g, (address) => address.replaceAll('://', '[:]//').replaceAll('.', '[.]'))

/** The format of times in messages. */
export const inWords = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`

export type TemplateMail = MailMessage & { template: MailTemplate }

/** The message of a template with its facts. Throws if the template names a fact that is not given. */
export function mailMessage(
  template: MailTemplate,
  to: string,
  facts: Readonly<Record<string, string>>,
): TemplateMail {
  const [subject = '', ...text] = TEMPLATES.get(template)!
    .replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
      const fact = facts[name]
      if (fact === undefined) throw new Error(`message ${template}: the fact ${name} is missing`)
      return LINKED_FACTS.includes(name) ? fact : shownFact(fact)
    })
    .split('\n')
  return { template, to, subject, text: text.join('\n').trimStart() }
}
