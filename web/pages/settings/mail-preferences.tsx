import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { MailPreference } from '../../../src/core/accounts/mail-preference.ts'
import type { GatewayView } from '../../../src/core/api/gateway.ts'
import type { AccountPatch, PersonView, SessionView } from '../../../src/core/api/sessions.ts'
import { gatewayQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { putSession } from '../../api/session.ts'
import { useAction } from '../../api/use-change.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { CheckField } from '../../components/form/fields.tsx'

const KINDS: Record<MailPreference, { label: string; hint: string }> = {
  low_balance: { label: 'Low balance', hint: 'The balance falls to your threshold, or is used up.' },
  key_limit: {
    label: 'Spending limits reached',
    hint: 'A request is refused because an API key, a member or the account spent its budget.',
  },
  provider_key: { label: 'Failing provider key', hint: 'A provider refuses one of your own keys.' },
  weekly_spend: {
    label: 'Spend of each week',
    hint: 'Every Monday: the cost of the week before, its models and keys, if there were requests.',
  },
}

/** Which messages about events a person gets. */
export function MailPreferences({ person }: { person: PersonView }) {
  const { data: gateway } = useQuery(gatewayQuery)
  const client = useQueryClient()
  const change = useAction({
    send: (mails: AccountPatch['mails']) =>
      requestJson<SessionView>('PATCH', '/console/api/account', { mails } satisfies AccountPatch),
    done: 'Saved.',
    onDone: (session) => putSession(client, session),
  })
  return (
    <div className="stack">
      {gateway && <DeliveryNote mail={gateway.mail} isVerified={person.email_verified} />}
      <fieldset className="field stack content-start gap-1">
        <legend className="text-sm font-medium">Send me an email about</legend>
        {(Object.keys(KINDS) as MailPreference[]).map((kind) => (
          <CheckField
            key={kind}
            {...KINDS[kind]}
            checked={person.mails[kind]}
            onChange={(isOn) => change.run({ [kind]: isOn })}
          />
        ))}
        <p className="text-sm text-muted">Receipts and messages about your sign-in are always sent.</p>
      </fieldset>
    </div>
  )
}

/** Why no message arrives; nothing where they do. */
function DeliveryNote({ mail, isVerified }: { mail: GatewayView['mail']; isVerified: boolean }) {
  if (mail === 'none')
    return <Note tone="warn">This gateway sends no email: its operator has not set it up.</Note>
  if (!isVerified) return <Note tone="warn">Messages are sent once your address is verified.</Note>
  if (mail === 'folder')
    return (
      <Note>
        This gateway writes its messages to a folder instead of sending them. Its operator finds them in{' '}
        <code>.data/mail</code>, unless another folder is set.
      </Note>
    )
  return null
}
