import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter, useSearch } from '@tanstack/react-router'
import type { CredentialsBody, SessionView } from '../../src/core/api/sessions.ts'
import { requestJson } from '../api/request.ts'
import { switchSession } from '../api/session.ts'
import { fragmentOf } from '../app/address.ts'
import { TextField } from '../components/form/fields.tsx'
import { Form, Submit, useForm } from '../components/form/form.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { emailProblem, newPasswordProblem } from '../lib/checks.ts'

/** Signs an account holder in, and leads on to the requested page. */
export function SignInPage() {
  const { next } = useSearch({ from: '/site/guest' })
  const signUp = (
    <>
      New here?{' '}
      <Link to="/sign-up" search={next ? { next } : {}} hash>
        Create an account
      </Link>
      .
    </>
  )
  return (
    <CenterPage title="Sign in" lead={signUp}>
      <CredentialsForm next={next} />
      <p>
        <Link to="/forgot-password">Forgot your password?</Link>
      </p>
    </CenterPage>
  )
}

/** Creates an account, and signs it in. */
export function SignUpPage() {
  const { next } = useSearch({ from: '/site/guest' })
  const signIn = (
    <>
      No card required. New accounts usually get free credit. Already have an account?{' '}
      <Link to="/sign-in" search={next ? { next } : {}} hash>
        Sign in
      </Link>
    </>
  )
  return (
    <CenterPage title="Create an account" name="Sign up" lead={signIn}>
      <CredentialsForm isNew next={next} />
    </CenterPage>
  )
}

/** Signs in with an email address and a password, or creates an account with them. */
function CredentialsForm({ isNew = false, next }: { isNew?: boolean; next: string | undefined }) {
  const client = useQueryClient()
  const router = useRouter()
  const form = useForm({
    initial: { email: '', password: '' },
    check: ({ email, password }) =>
      isNew ? { email: emailProblem(email), password: newPasswordProblem(password) } : {},
    send: async ({ email, password }) => {
      const body: CredentialsBody = { email: email.trim(), password }
      const route = `/console/api/${isNew ? 'sign-up' : 'sign-in'}`
      const session = await requestJson<SessionView>('POST', route, body)
      switchSession(client, session)
      await router.navigate({ href: (next ?? '/dashboard') + fragmentOf(router.state.location) })
    },
  })
  const [submit, pending] = isNew ? ['Create account', 'Creating account …'] : ['Sign in', 'Signing in …']
  return (
    <Form form={form}>
      <TextField
        label="Email address"
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
        hint={isNew && 'At least 10 characters. Tip: use a passphrase of several words.'}
        required
      />
      <Submit form={form} kind="primary" size="large" pending={pending}>
        {submit}
      </Submit>
    </Form>
  )
}
