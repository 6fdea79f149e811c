import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { CredentialsBody, SessionView } from '../../src/core/api/sessions.ts'
import { become } from '../api/become.ts'
import { requestJson } from '../api/request.ts'
import { Form } from '../components/form.tsx'
import { fieldError } from '../components/form-error.tsx'
import { TextField } from '../components/text-field.tsx'
import { usePageTitle } from '../components/use-page-title.ts'

/** Lets an account holder in, and on to where they wanted to be. */
export function SignInPage() {
  const heading = usePageTitle('Sign in')
  const { next } = useSearch({ from: '/site/guest' })
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const client = useQueryClient()
  const router = useRouter()
  const signIn = useMutation({
    mutationFn: (body: CredentialsBody) => requestJson<SessionView>('POST', '/console/api/sign-in', { body }),
    onSuccess: async (session) => {
      become(client, session)
      await router.navigate({ href: next ?? '/dashboard' })
    },
  })
  const submit = () => {
    signIn.mutate({ email: email.trim(), password })
  }
  return (
    <div className="center-page">
      <div className="stack-small">
        <h1 ref={heading} tabIndex={-1}>
          Sign in
        </h1>
        <p className="muted">
          New here?{' '}
          <Link to="/sign-up" search={next ? { next } : {}}>
            Create an account
          </Link>
          .
        </p>
      </div>
      <Form error={signIn.error} fields={['email', 'password']} onSubmit={submit}>
        <TextField
          label="E-mail address"
          type="email"
          name="email"
          autoComplete="username"
          inputMode="email"
          value={email}
          onChange={setEmail}
          error={fieldError(signIn.error, 'email')}
          required
        />
        <TextField
          label="Password"
          type="password"
          name="password"
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
          error={fieldError(signIn.error, 'password')}
          required
        />
        <button type="submit" className="button button-primary button-large" disabled={signIn.isPending}>
          {signIn.isPending ? 'Signing in …' : 'Sign in'}
        </button>
      </Form>
    </div>
  )
}
