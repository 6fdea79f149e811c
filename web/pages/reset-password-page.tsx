import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import type { NewPasswordBody, PasswordResetBody, WaysInView } from '../../src/core/api/sessions.ts'
import { gatewayQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Note } from '../components/feedback/messages.tsx'
import { CHOSEN_PASSWORD, SIGN_IN_EMAIL } from '../components/form/field-specs.ts'
import { PageForm } from '../components/form/form.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { plural } from '../lib/format.ts'

/** Asks for a message with a link that resets the password of an account. */
export function ForgotPasswordPage() {
  const { data: gateway } = useQuery(gatewayQuery)
  return (
    <CenterPage
      title="Reset your password"
      lead="Enter the email address of your account. You get a message with a link."
    >
      {gateway?.mail === 'none' ? (
        <Note tone="warn">This gateway sends no email. Ask its operator to set a new password.</Note>
      ) : (
        <RequestForm isFolder={gateway?.mail === 'folder'} />
      )}
      <p>
        <Link to="/sign-in">Back to sign-in</Link>
      </p>
    </CenterPage>
  )
}

function RequestForm({ isFolder }: { isFolder: boolean }) {
  const [sentTo, setSentTo] = useState<string | null>(null)
  if (sentTo !== null)
    return (
      <Note tone="good" announce>
        If <strong>{sentTo}</strong> has an account, a message with a link{' '}
        {isFolder
          ? 'is in the mail folder of this gateway.'
          : 'has been queued. Look into the spam folder, too.'}{' '}
        The link is valid for an hour.
      </Note>
    )
  return (
    <PageForm
      fields={{ email: SIGN_IN_EMAIL }}
      send={async (body: PasswordResetBody) => {
        await requestJson('POST', '/console/api/password-resets', body)
        setSentTo(body.email)
      }}
      kind="primary"
      size="large"
      pending="Sending …"
      submit="Send the link"
    />
  )
}

/** The target of the link in a message that resets a password. Its token is behind `#`. */
export function ResetPasswordPage() {
  const token = useLocation({ select: ({ hash }) => hash })
  const [remaining, setRemaining] = useState<WaysInView | null>(null)
  return (
    <CenterPage title="Choose a new password">
      {remaining ? (
        <>
          <Note tone="good" announce>
            The password is changed, and every session has ended. <Link to="/sign-in">Sign in</Link>
          </Note>
          <RemainingWaysIn remaining={remaining} />
        </>
      ) : token === '' ? (
        <Note tone="warn">The last part of the link is missing. Open the whole link of the message.</Note>
      ) : (
        <PageForm
          fields={{ password: { ...CHOSEN_PASSWORD, label: 'New password' } }}
          send={async ({ password }) => {
            const body: NewPasswordBody = { token, password }
            setRemaining(await requestJson<WaysInView>('POST', '/console/api/password-resets/use', body))
          }}
          kind="primary"
          size="large"
          pending="Changing …"
          submit="Change password"
        />
      )}
      {!remaining && (
        <p>
          <Link to="/forgot-password">Ask for another link</Link>
        </p>
      )}
    </CenterPage>
  )
}

/** The other ways to sign in, which a person who knew the old password may have added. */
function RemainingWaysIn({ remaining }: { remaining: WaysInView }) {
  const { identities, passkeys, api_keys: apiKeys } = remaining
  const ways = [
    ...(identities.length > 0 ? [`the sign-in with ${identities.join(', ')}`] : []),
    ...(passkeys > 0 ? [plural(passkeys, 'passkey')] : []),
    ...(apiKeys > 0 ? [plural(apiKeys, 'API key')] : []),
  ]
  if (ways.length === 0) return null
  return (
    <Note tone="warn">
      Still active: {ways.join('; ')}. If somebody else knew your password, check them under Settings and API
      keys, and remove what is not yours.
    </Note>
  )
}
