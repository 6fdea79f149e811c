import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { OauthBody, RedirectView } from '../../src/core/api/identities.ts'
import type { PasskeyAsked, PasskeyBody, SecondFactorAsked } from '../../src/core/api/second-factor.ts'
import type { CredentialsBody, SessionView } from '../../src/core/api/sessions.ts'
import { gatewayQuery, invitationQuery, stepQuery } from '../api/queries.ts'
import { path, requestJson } from '../api/request.ts'
import { switchSession } from '../api/session.ts'
import { fragmentOf, stepOf } from '../app/address.ts'
import { takeSessionEnd } from '../app/session-end.ts'
import { Note } from '../components/feedback/messages.tsx'
import { CHOSEN_PASSWORD, PASSWORD, SIGN_IN_EMAIL } from '../components/form/field-specs.ts'
import { PageForm } from '../components/form/form.tsx'
import { LargeAction } from '../components/form/large-action.tsx'
import { CenterPage } from '../components/layout/page.tsx'
import { hasKeptDrafts } from '../lib/form-drafts.ts'
import { formatAmount } from '../lib/format.ts'
import { oauthProblem } from '../lib/oauth-problem.ts'
import { passkeyProblem, signWithPasskey } from '../lib/passkeys.ts'
import { SecondFactorForm } from './sign-in/second-factor-form.tsx'

/** Signs an account holder in, and leads on to the requested page. */
export function SignInPage() {
  const { next, problem } = useSearch({ from: '/site/guest' })
  const [given, setAsked] = useState<SecondFactorAsked | null>(null)
  const step = useLocation({ select: stepOf })
  const begun = useQuery({ ...stepQuery(step ?? ''), enabled: step !== null && given === null })
  const asked = given ?? begun.data ?? null
  const [isEnded] = useState(takeSessionEnd)
  const reason = oauthProblem(begun.error ? 'failed' : problem)
  const enter = useEnter(next)
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
    <CenterPage title="Sign in" lead={asked ? 'Two-step verification' : signUp}>
      {isEnded && (
        <Note announce>
          Your session has ended. Sign in to continue.{hasKeptDrafts() && ' What you typed is kept.'}
        </Note>
      )}
      {asked ? (
        <SecondFactorForm asked={asked} onSession={enter} />
      ) : (
        <>
          {reason && (
            <Note tone="warn" announce>
              {reason}
            </Note>
          )}
          <CredentialsForm onSession={enter} onAsked={setAsked} />
          <PasskeySignIn onSession={enter} />
          <ProviderButtons next={next} />
          <p>
            <Link to="/forgot-password">Forgot your password?</Link>
          </p>
        </>
      )}
    </CenterPage>
  )
}

/** Creates an account, and signs it in. */
export function SignUpPage() {
  const { next } = useSearch({ from: '/site/guest' })
  const enter = useEnter(next)
  const invited = useInvitedAddress(next)
  const credit = useQuery(gatewayQuery).data?.free_credit_usd ?? '0'
  const signIn = (
    <>
      No card required.
      {/[1-9]/.test(credit) && ` New accounts usually get ${formatAmount(credit)} of free credit.`} Already
      have an account?{' '}
      <Link to="/sign-in" search={next ? { next } : {}} hash>
        Sign in
      </Link>
    </>
  )
  return (
    <CenterPage title="Create an account" name="Sign up" lead={signIn}>
      {invited.isKnown && <CredentialsForm isNew email={invited.email} onSession={enter} />}
      <ProviderButtons next={next} />
    </CenterPage>
  )
}

/** The address that the link of an invitation was sent to, which leads on to `next`; known once it is read. */
function useInvitedAddress(next: string | undefined): { email?: string | undefined; isKnown: boolean } {
  const token = useLocation({ select: ({ hash }) => hash })
  const isInvited = next === '/invitation' && token !== ''
  const { data, isLoading } = useQuery({ ...invitationQuery(token), enabled: isInvited })
  return { email: data?.email, isKnown: !isLoading }
}

/** Signs the page in with a session that has begun, and leads on. */
function useEnter(next = '/dashboard') {
  const client = useQueryClient()
  const router = useRouter()
  return async (session: SessionView) => {
    switchSession(client, session)
    await router.navigate({ href: next + fragmentOf(router.state.location) })
  }
}

/** Signs in with an email address and a password, or creates an account with them. `onAsked`: a second factor is missing. */
function CredentialsForm(props: {
  isNew?: boolean
  /** The address that the form begins with. */
  email?: string | undefined
  onSession: (session: SessionView) => Promise<void>
  onAsked?: (asked: SecondFactorAsked) => void
}) {
  const { isNew = false, email, onSession, onAsked } = props
  const [submit, pending] = isNew ? ['Create account', 'Creating account …'] : ['Sign in', 'Signing in …']
  return (
    <PageForm
      fields={{
        email: { ...SIGN_IN_EMAIL, ...(email !== undefined && { initial: email }) },
        password: isNew ? CHOSEN_PASSWORD : PASSWORD,
      }}
      send={async (body: CredentialsBody) => {
        const route = `/console/api/${isNew ? 'sign-up' : 'sign-in'}`
        const result = await requestJson<SessionView | SecondFactorAsked>('POST', route, body)
        if ('step' in result) onAsked?.(result)
        else await onSession(result)
      }}
      kind="primary"
      size="large"
      pending={pending}
      submit={submit}
    />
  )
}

const PATH = '/console/api/sign-in'

/** Signs in with a passkey alone; not offered where the browser cannot. */
function PasskeySignIn({ onSession }: { onSession: (session: SessionView) => Promise<void> }) {
  if (passkeyProblem() !== null) return null
  const send = async () => {
    const { step, options } = await requestJson<PasskeyAsked>('POST', `${PATH}/passkey-options`)
    const body: PasskeyBody = { step, passkey: await signWithPasskey(options) }
    await onSession(await requestJson<SessionView>('POST', `${PATH}/passkey`, body))
  }
  return (
    <LargeAction pending="Waiting for the passkey …" send={send}>
      Sign in with a passkey
    </LargeAction>
  )
}

/** Signs in with another service, which also opens an account; nothing where none is set up. */
function ProviderButtons({ next }: { next: string | undefined }) {
  const { data: gateway } = useQuery(gatewayQuery)
  const leave = async (id: string) => {
    const body: OauthBody = next === undefined ? {} : { next }
    const { url } = await requestJson<RedirectView>('POST', path`/console/api/oauth/${id}`, body)
    window.location.assign(url)
  }
  if (!gateway || gateway.providers.length === 0) return null
  return (
    <div className="stack gap-3">
      {gateway.providers.map(({ id, name }) => (
        <LargeAction key={id} send={() => leave(id)}>
          Continue with {name}
        </LargeAction>
      ))}
    </div>
  )
}
