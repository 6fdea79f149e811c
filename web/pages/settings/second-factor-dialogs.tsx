import type { ReactNode } from 'react'
import { encode } from 'uqr'
import type {
  ConfirmedBody,
  NewPasskeyBody,
  NewRecoveryCodes,
  NewTotp,
  PasskeyAsked,
  TotpCodeBody,
} from '../../../src/core/api/second-factor.ts'
import { requestJson } from '../../api/request.ts'
import type { Change } from '../../api/use-change.ts'
import { FormDialog, SecretDialog } from '../../components/feedback/dialogs.tsx'
import { CURRENT_PASSWORD } from '../../components/form/field-specs.ts'
import { CopyButton } from '../../components/text/copy.tsx'
import { makePasskey } from '../../lib/passkeys.ts'

export const SECOND_FACTOR_PATH = '/console/api/second-factor'

/** Asks for the password before a change of the sign-in. */
export function PasswordDialog<Result>(
  props: Change<ConfirmedBody, Result> & {
    title: string
    submit: string
    kind: 'primary' | 'danger'
    children?: ReactNode
    then?: (result: Result, close: () => void) => ReactNode
    onClose: () => void
  },
) {
  return <FormDialog {...props} pending="Working …" fields={{ current_password: CURRENT_PASSWORD }} />
}

/** Adds a passkey: the password, then what the browser asks. */
export const NewPasskeyDialog = ({ onClose }: { onClose: () => void }) => (
  <FormDialog
    title="Add a passkey"
    submit="Continue"
    pending="Waiting for the passkey …"
    fields={{
      name: {
        label: 'Name',
        placeholder: 'Laptop',
        required: 'Give it a name, such as the device it is on.',
      },
      current_password: CURRENT_PASSWORD,
    }}
    send={async ({ name, current_password }) => {
      const asked = await requestJson<PasskeyAsked>('POST', `${SECOND_FACTOR_PATH}/passkey-options`, {
        current_password,
      })
      const passkey = await makePasskey(asked.options)
      const body: NewPasskeyBody = { step: asked.step, name, passkey }
      return requestJson<NewRecoveryCodes>('POST', `${SECOND_FACTOR_PATH}/passkeys`, body)
    }}
    stale={[SECOND_FACTOR_PATH]}
    done="The passkey is added."
    then={showCodes}
    onClose={onClose}
  />
)

/** Shows the secret of an authenticator app once, and takes the app's first code. */
export const TotpDialog = ({ totp, onClose }: { totp: NewTotp; onClose: () => void }) => (
  <FormDialog
    title="Scan this with your app"
    submit="Turn on"
    pending="Checking …"
    fields={{
      code: {
        label: 'Code',
        hint: 'Enter the 6-digit code from your app.',
        inputMode: 'numeric',
        autoComplete: 'one-time-code',
        required: true,
        check: (code) => (/^\d{6}$/.test(code.replace(/\s/g, '')) ? null : 'Enter the six digits.'),
      },
    }}
    send={({ code }) =>
      requestJson<NewRecoveryCodes>('POST', `${SECOND_FACTOR_PATH}/totp/confirm`, {
        code: code.replace(/\s/g, ''),
      } satisfies TotpCodeBody)
    }
    stale={[SECOND_FACTOR_PATH]}
    done="The authenticator app is on."
    then={showCodes}
    onClose={onClose}
  >
    <QrCode text={totp.uri} label="QR code with the secret of this account" />
    <p className="row gap-2">
      <span>
        Or type this secret: <code className="wrap-anywhere">{totp.secret}</code>
      </span>
      <CopyButton text={totp.secret} of="the secret" />
    </p>
  </FormDialog>
)

/** A text as a QR code: black on white in either theme, since cameras expect it so. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { size, data } = encode(text, { border: 2 })
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])))
  return (
    <svg
      className="w-48"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path.join('')} fill="#000" />
    </svg>
  )
}

/** The one time that recovery codes are shown, where new ones were made. It closes by its own button only. */
export const showCodes = ({ recovery_codes: codes }: NewRecoveryCodes, close: () => void) =>
  codes !== null && (
    <SecretDialog
      title="Save your recovery codes"
      secret={codes.join('\n')}
      of="the recovery codes"
      copy="Copy all"
      warning="This is the only time they are shown."
      onClose={close}
    >
      <p>Each signs you in once, if you lose your app or passkey. Keep them where you keep your passwords.</p>
    </SecretDialog>
  )
