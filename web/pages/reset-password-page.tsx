import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import type { NewPasswordBody, PasswordResetBody } from '../../src/core/api/sessions.ts'
import { gatewayQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { Note } from '../components/feedback/messages.tsx'
import { Form, Submit, useForm } from '../components/form/form.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { emailProblem, newPasswordProblem } from '../lib/checks.ts'
import { EmailField, PasswordField } from './sign-in/credential-fields.tsx'

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
  const form = useForm({
    initial: { email: '' },
    check: ({ email }) => ({ email: emailProblem(email) }),
    send: async ({ email }) => {
      const body: PasswordResetBody = { email: email.trim() }
      await requestJson('POST', '/console/api/password-resets', body)
      setSentTo(body.email)
    },
  })
  if (sentTo !== null)
    return (
      <Note tone="good" announce>
        If <strong>{sentTo}</strong> has an account, a message with a link{' '}
        {isFolder
          ? 'is in the mail folder of this gateway.'
          : 'is on its way. Look into the spam folder, too.'}{' '}
        The link is valid for an hour.
      </Note>
    )
  return (
    <Form form={form}>
      <EmailField field={form.field('email')} />
      <Submit form={form} kind="primary" size="large" pending="Sending …">
        Send the link
      </Submit>
    </Form>
  )
}

/** The target of the link in a message that resets a password. Its token is behind `#`. */
export function ResetPasswordPage() {
  const token = useLocation({ select: ({ hash }) => hash })
  const [isDone, setIsDone] = useState(false)
  const form = useForm({
    initial: { password: '' },
    check: ({ password }) => ({ password: newPasswordProblem(password) }),
    send: async ({ password }) => {
      const body: NewPasswordBody = { token, password }
      await requestJson('POST', '/console/api/password-resets/use', body)
      setIsDone(true)
    },
  })
  return (
    <CenterPage title="Choose a new password">
      {isDone ? (
        <Note tone="good" announce>
          The password is changed, and every session has ended. <Link to="/sign-in">Sign in</Link>
        </Note>
      ) : token === '' ? (
        <Note tone="warn">The last part of the link is missing. Open the whole link of the message.</Note>
      ) : (
        <Form form={form}>
          <PasswordField label="New password" field={form.field('password')} isNew />
          <Submit form={form} kind="primary" size="large" pending="Changing …">
            Change password
          </Submit>
        </Form>
      )}
      {!isDone && (
        <p>
          <Link to="/forgot-password">Ask for another link</Link>
        </p>
      )}
    </CenterPage>
  )
}
