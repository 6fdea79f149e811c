import type { PasskeyAsked, PasskeyBody } from '../../../src/core/api/second-factor.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { requestJson } from '../../api/request.ts'
import { useChange } from '../../api/use-change.ts'
import { ErrorNote } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { passkeyProblem, signWithPasskey } from '../../lib/passkeys.ts'

const PATH = '/console/api/sign-in'

/** Signs in with a passkey alone; not offered where the browser cannot. */
export function PasskeySignIn({ onSession }: { onSession: (session: SessionView) => Promise<void> }) {
  const sign = useChange({
    send: async () => {
      const { step, options } = await requestJson<PasskeyAsked>('POST', `${PATH}/passkey-options`)
      const body: PasskeyBody = { step, passkey: await signWithPasskey(options) }
      await onSession(await requestJson<SessionView>('POST', `${PATH}/passkey`, body))
    },
  })
  if (passkeyProblem() !== null) return null
  return (
    <div className="stack">
      <ErrorNote error={sign.error} />
      <Button size="large" disabled={sign.isPending} onClick={() => sign.mutate()}>
        {sign.isPending ? 'Waiting for the passkey …' : 'Sign in with a passkey'}
      </Button>
    </div>
  )
}
