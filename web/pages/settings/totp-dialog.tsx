import type { NewRecoveryCodes, NewTotp, TotpCodeBody } from '../../../src/core/api/second-factor.ts'
import { requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { CopyButton } from '../../components/text/copy.tsx'
import { QrCode } from './qr-code.tsx'

const PATH = '/console/api/second-factor'

/** Shows the secret of an authenticator app once, and takes the app's first code. */
export function TotpDialog(props: {
  totp: NewTotp
  onCodes: (codes: string[] | null) => void
  onClose: () => void
}) {
  const { totp, onCodes, onClose } = props
  return (
    <FormDialog
      title="Scan this with your app"
      submit="Turn on"
      pending="Checking …"
      kind="primary"
      initial={{ code: '' }}
      check={({ code }) => ({
        code: /^\d{6}$/.test(code.replace(/\s/g, '')) ? null : 'Enter the six digits.',
      })}
      send={({ code }) => {
        const body: TotpCodeBody = { code: code.replace(/\s/g, '') }
        return requestJson<NewRecoveryCodes>('POST', `${PATH}/totp/confirm`, body)
      }}
      stale={[PATH]}
      done="The authenticator app is on."
      onDone={({ recovery_codes: codes }) => onCodes(codes)}
      onClose={onClose}
    >
      {(field) => (
        <>
          <QrCode text={totp.uri} label="QR code with the secret of this account" />
          <p className="row gap-2">
            <span>
              Or type this secret: <code className="wrap-anywhere">{totp.secret}</code>
            </span>
            <CopyButton text={totp.secret} of="the secret" />
          </p>
          <TextField
            label="Code"
            hint="The six digits that the app shows now."
            inputMode="numeric"
            autoComplete="one-time-code"
            {...field('code')}
            required
          />
        </>
      )}
    </FormDialog>
  )
}
