import { useState } from 'react'
import type { SecondFactorAsked, SecondFactorBody } from '../../../src/core/api/second-factor.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { requestJson } from '../../api/request.ts'
import { Button } from '../../components/form/button.tsx'
import { PageForm } from '../../components/form/form.tsx'
import { LargeAction } from '../../components/form/large-action.tsx'
import { signWithPasskey } from '../../lib/passkeys.ts'

interface Props {
  asked: SecondFactorAsked
  onSession: (session: SessionView) => Promise<void>
}

type Factor = Omit<SecondFactorBody, 'step'>

/** The second step of a sign-in: a code of an app, a passkey, or a recovery code instead of either. */
export function SecondFactorForm({ asked, onSession }: Props) {
  const [isRecovering, setIsRecovering] = useState(false)
  const give = async (factor: Factor) => {
    const body: SecondFactorBody = { step: asked.step, ...factor }
    await onSession(await requestJson<SessionView>('POST', '/console/api/sign-in/second-factor', body))
  }
  return (
    <div className="stack gap-6">
      {isRecovering ? (
        <CodeForm
          key="recovery"
          label="Recovery code"
          hint="One of the ten codes that you kept. Each works once."
          inputMode="text"
          send={(code) => give({ recovery_code: code })}
        />
      ) : (
        <>
          {asked.totp && (
            <CodeForm
              key="code"
              label="Code"
              hint="Enter the 6-digit code from your app."
              inputMode="numeric"
              send={(code) => give({ code: code.replace(/\s/g, '') })}
            />
          )}
          {asked.passkey && (
            <LargeAction
              pending="Waiting for the passkey …"
              send={async () => give({ passkey: await signWithPasskey(asked.passkey!) })}
            >
              Use your passkey
            </LargeAction>
          )}
        </>
      )}
      <p>
        <Button kind="quiet" size="small" onClick={() => setIsRecovering(!isRecovering)}>
          {isRecovering ? 'Use your second factor' : 'Use a recovery code'}
        </Button>
      </p>
    </div>
  )
}

function CodeForm(props: {
  label: string
  hint: string
  inputMode: 'numeric' | 'text'
  send: (code: string) => Promise<void>
}) {
  const { label, hint, inputMode, send } = props
  return (
    <PageForm
      fields={{
        code: { label, hint, inputMode, autoComplete: 'one-time-code', required: 'Enter a code.' },
      }}
      send={({ code }) => send(code)}
      kind="primary"
      size="large"
      pending="Signing in …"
      submit="Sign in"
    />
  )
}
