import { Link, useSearch } from '@tanstack/react-router'
import { CenterPage } from '../components/layout/page.tsx'
import { CredentialsForm } from './sign-in/credentials-form.tsx'

/** Creates an account, and signs it in. */
export function SignUpPage() {
  const { next } = useSearch({ from: '/site/guest' })
  const signIn = (
    <>
      No card is needed. Most new accounts get free credit; it is limited. Have one already?{' '}
      <Link to="/sign-in" search={next ? { next } : {}}>
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
