import { Link, useSearch } from '@tanstack/react-router'
import { CenterPage } from '../components/layout/page.tsx'
import { CredentialsForm } from './sign-in/credentials-form.tsx'

/** Signs an account holder in, and leads on to the requested page. */
export function SignInPage() {
  const { next } = useSearch({ from: '/site/guest' })
  const signUp = (
    <>
      New here?{' '}
      <Link to="/sign-up" search={next ? { next } : {}}>
        Create an account
      </Link>
      .
    </>
  )
  return (
    <CenterPage title="Sign in" lead={signUp}>
      <CredentialsForm next={next} />
    </CenterPage>
  )
}
