import { useQuery } from '@tanstack/react-query'
import type { OauthBody, RedirectView } from '../../../src/core/api/identities.ts'
import type { PasskeyAsked, PasskeyBody } from '../../../src/core/api/second-factor.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { gatewayQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { LargeAction } from '../../components/form/large-action.tsx'
import { passkeyProblem, signWithPasskey } from '../../lib/passkeys.ts'

const PATH = '/console/api/sign-in'

/** Signs in with a passkey alone; not offered where the browser cannot. */
export function PasskeySignIn({ onSession }: { onSession: (session: SessionView) => Promise<void> }) {
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
export function ProviderButtons({ next }: { next: string | undefined }) {
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
