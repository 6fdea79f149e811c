import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import type { CredentialsBody, SessionView } from '../../../src/core/api/sessions.ts'
import { requestJson } from '../../api/request.ts'
import { switchSession } from '../../api/switch-session.ts'
import { Form, Submit, useForm } from '../../components/form/form.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { emailProblem, newPasswordProblem } from '../../lib/checks.ts'

/** Signs in with an e-mail address and a password, or creates an account with them. */
export function CredentialsForm({ isNew = false, next }: { isNew?: boolean; next: string | undefined }) {
  const client = useQueryClient()
  const router = useRouter()
  const form = useForm({
    initial: { email: '', password: '' },
    check: ({ email, password }) =>
      isNew ? { email: emailProblem(email), password: newPasswordProblem(password) } : {},
    send: async ({ email, password }) => {
      const body: CredentialsBody = { email: email.trim(), password }
      const path = `/console/api/${isNew ? 'sign-up' : 'sign-in'}`
      const session = await requestJson<SessionView>('POST', path, { body })
      switchSession(client, session)
      await router.navigate({ href: next ?? '/dashboard' })
    },
  })
  const [submit, pending] = isNew
    ? ['Create the account', 'Creating the account …']
    : ['Sign in', 'Signing in …']
  return (
    <Form form={form}>
      <TextField
        label="E-mail address"
        type="email"
        name="email"
        autoComplete="username"
        inputMode="email"
        {...form.field('email')}
        required
      />
      <TextField
        label="Password"
        type="password"
        name="password"
        autoComplete={isNew ? 'new-password' : 'current-password'}
        {...form.field('password')}
        hint={isNew && 'At least 10 characters. Several words in a row are strong and easy to remember.'}
        required
      />
      <Submit form={form} kind="primary" large pending={pending}>
        {submit}
      </Submit>
    </Form>
  )
}
