import type { NewPasskeyBody, NewRecoveryCodes, PasskeyAsked } from '../../../src/core/api/second-factor.ts'
import { requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { makePasskey } from '../../lib/passkeys.ts'
import { CurrentPassword } from './password-dialog.tsx'

const PATH = '/console/api/second-factor'

/** Adds a passkey: the password, then what the browser asks. */
export function NewPasskeyDialog({
  onCodes,
  onClose,
}: {
  onCodes: (codes: string[] | null) => void
  onClose: () => void
}) {
  return (
    <FormDialog
      title="Add a passkey"
      submit="Continue"
      pending="Waiting for the passkey …"
      kind="primary"
      initial={{ name: '', current_password: '' }}
      check={({ name, current_password: password }) => ({
        name: name.trim() === '' ? 'Give it a name, such as the device it is on.' : null,
        current_password: password === '' ? 'Enter your current password.' : null,
      })}
      send={async ({ name, current_password }) => {
        const asked = await requestJson<PasskeyAsked>('POST', `${PATH}/passkey-options`, { current_password })
        const passkey = await makePasskey(asked.options)
        const body: NewPasskeyBody = { step: asked.step, name: name.trim(), passkey }
        return requestJson<NewRecoveryCodes>('POST', `${PATH}/passkeys`, body)
      }}
      stale={[PATH]}
      done="The passkey is added."
      onDone={({ recovery_codes: codes }) => onCodes(codes)}
      onClose={onClose}
    >
      {(field) => (
        <>
          <TextField label="Name" {...field('name')} placeholder="Laptop" required />
          <CurrentPassword field={field('current_password')} />
        </>
      )}
    </FormDialog>
  )
}
