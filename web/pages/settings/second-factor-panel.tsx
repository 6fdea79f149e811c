import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { NewRecoveryCodes, NewTotp, SecondFactorView } from '../../../src/core/api/second-factor.ts'
import { secondFactorQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Facts } from '../../components/text/values.tsx'
import { formatDate, plural } from '../../lib/format.ts'
import { passkeyProblem } from '../../lib/passkeys.ts'
import { NewPasskeyDialog } from './new-passkey-dialog.tsx'
import { PasswordDialog } from './password-dialog.tsx'
import { RecoveryCodesDialog } from './recovery-codes-dialog.tsx'
import { TotpDialog } from './totp-dialog.tsx'

const PATH = '/console/api/second-factor'

type Open =
  | 'add-totp'
  | 'remove-totp'
  | 'add-passkey'
  | 'new-codes'
  | { passkey: SecondFactorView['passkeys'][number] }

/** What signing in takes beside the password. */
export function SecondFactorPanel() {
  const query = useQuery(secondFactorQuery)
  const [open, setOpen] = useState<Open | null>(null)
  const [totp, setTotp] = useState<NewTotp | null>(null)
  const [codes, setCodes] = useState<string[] | null>(null)
  const close = () => setOpen(null)
  return (
    <Panel title="Two-step sign-in" padded>
      <QueryView query={query}>
        {(view) => (
          <Facts
            rows={{
              'Authenticator app': <Totp isOn={view.totp} onOpen={setOpen} />,
              Passkeys: <Passkeys passkeys={view.passkeys} onOpen={setOpen} />,
              'Recovery codes': (view.totp || view.passkeys.length > 0) && (
                <span className="row gap-x-3 gap-y-1">
                  {plural(view.recovery_codes_left, 'code')} left
                  <Button size="small" onClick={() => setOpen('new-codes')}>
                    Make new codes
                  </Button>
                </span>
              ),
            }}
          />
        )}
      </QueryView>
      {open === 'add-totp' && (
        <PasswordDialog
          title="Set up an authenticator app"
          submit="Continue"
          kind="primary"
          send={(body) => requestJson<NewTotp>('POST', `${PATH}/totp`, body)}
          onDone={setTotp}
          onClose={close}
        />
      )}
      {totp !== null && <TotpDialog totp={totp} onCodes={setCodes} onClose={() => setTotp(null)} />}
      {open === 'add-passkey' && <NewPasskeyDialog onCodes={setCodes} onClose={close} />}
      {open === 'remove-totp' && (
        <PasswordDialog
          title="Remove the authenticator app?"
          submit="Remove"
          kind="danger"
          send={(body) => requestJson('POST', `${PATH}/totp/remove`, body)}
          stale={[PATH]}
          done="The authenticator app is removed."
          onClose={close}
        />
      )}
      {open === 'new-codes' && (
        <PasswordDialog
          title="Make new recovery codes"
          submit="Make new codes"
          kind="primary"
          send={(body) => requestJson<NewRecoveryCodes>('POST', `${PATH}/recovery-codes`, body)}
          stale={[PATH]}
          onDone={(made) => setCodes(made.recovery_codes)}
          onClose={close}
        >
          <p>The codes you have no longer work then.</p>
        </PasswordDialog>
      )}
      {open !== null && typeof open === 'object' && (
        <PasswordDialog
          title={`Remove the passkey “${open.passkey.name}”?`}
          submit="Remove"
          kind="danger"
          send={(body) =>
            requestJson('POST', path`/console/api/second-factor/passkeys/${open.passkey.id}/remove`, body)
          }
          stale={[PATH]}
          done="The passkey is removed."
          onClose={close}
        />
      )}
      {codes !== null && <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />}
    </Panel>
  )
}

function Totp({ isOn, onOpen }: { isOn: boolean; onOpen: (open: Open) => void }) {
  return (
    <span className="row gap-x-3 gap-y-1">
      {isOn ? 'On' : 'Off'}
      <Button
        size="small"
        about="the authenticator app"
        onClick={() => onOpen(isOn ? 'remove-totp' : 'add-totp')}
      >
        {isOn ? 'Remove' : 'Set up'}
      </Button>
    </span>
  )
}

function Passkeys({
  passkeys,
  onOpen,
}: {
  passkeys: SecondFactorView['passkeys']
  onOpen: (open: Open) => void
}) {
  const problem = passkeyProblem()
  return (
    <span className="stack gap-2">
      {passkeys.map((passkey) => (
        <span key={passkey.id} className="row gap-x-3 gap-y-1">
          <span className="wrap-anywhere">{passkey.name}</span>
          <span className="text-sm text-muted">
            {passkey.last_used_at === null ? 'never used' : `last used ${formatDate(passkey.last_used_at)}`}
          </span>
          <Button size="small" about={passkey.name} onClick={() => onOpen({ passkey })}>
            Remove
          </Button>
        </span>
      ))}
      {problem === null ? (
        <span>
          <Button size="small" onClick={() => onOpen('add-passkey')}>
            Add a passkey
          </Button>
        </span>
      ) : (
        <span className="text-sm text-muted">{problem}</span>
      )}
    </span>
  )
}
