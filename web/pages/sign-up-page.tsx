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
import { emailProblem, newPasswordProblem } from '../lib/credentials.ts'

/** Makes an account, signed in at once. */
export function SignUpPage() {
  const heading = usePageTitle('Sign up')
  const { next } = useSearch({ from: '/site/guest' })
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [isChecked, setIsChecked] = useState(false)
  const client = useQueryClient()
  const router = useRouter()
  const signUp = useMutation({
    mutationFn: (body: CredentialsBody) => requestJson<SessionView>('POST', '/console/api/sign-up', { body }),
    onSuccess: async (session) => {
      become(client, session)
      await router.navigate({ href: next ?? '/dashboard' })
    },
  })
  const problems = { email: emailProblem(email), password: newPasswordProblem(password) }
  const submit = () => {
    setIsChecked(true)
    if (problems.email || problems.password) return
    signUp.mutate({ email: email.trim(), password })
  }
  return (
    <div className="center-page">
      <div className="stack-small">
        <h1 ref={heading} tabIndex={-1}>
          Create an account
        </h1>
        <p className="muted">
          It needs no card. Most new accounts get free credit; it is limited. Have one already?{' '}
          <Link to="/sign-in" search={next ? { next } : {}}>
            Sign in
          </Link>
        </p>
      </div>
      <Form error={signUp.error} fields={['email', 'password']} onSubmit={submit}>
        <TextField
          label="E-mail address"
          type="email"
          name="email"
          autoComplete="username"
          inputMode="email"
          value={email}
          onChange={setEmail}
          error={(isChecked && problems.email) || fieldError(signUp.error, 'email')}
          required
        />
        <TextField
          label="Password"
          type="password"
          name="password"
          autoComplete="new-password"
          value={password}
          onChange={setPassword}
          hint="At least 10 characters. A few words in a row are good and easy to keep in mind."
          error={(isChecked && problems.password) || fieldError(signUp.error, 'password')}
          required
        />
        <button type="submit" className="button button-primary button-large" disabled={signUp.isPending}>
          {signUp.isPending ? 'Creating the account …' : 'Create the account'}
        </button>
      </Form>
    </div>
  )
}
