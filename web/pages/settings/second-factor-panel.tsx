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
import {
  NewPasskeyDialog,
  PasswordDialog,
  SECOND_FACTOR_PATH,
  showCodes,
  TotpDialog,
} from './second-factor-dialogs.tsx'

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
      {open && <OpenDialog open={open} onClose={() => setOpen(null)} />}
    </Panel>
  )
}

/** It stays open over a change of the panel, since codes are shown after it. */
function OpenDialog({ open, onClose }: { open: Open; onClose: () => void }) {
  const removal = { submit: 'Remove', kind: 'danger', stale: [SECOND_FACTOR_PATH], onClose } as const
  switch (open) {
    case 'add-totp':
      return (
        <PasswordDialog
          title="Set up an authenticator app"
          submit="Continue"
          kind="primary"
          send={(body) => requestJson<NewTotp>('POST', `${SECOND_FACTOR_PATH}/totp`, body)}
          then={(totp, close) => <TotpDialog totp={totp} onClose={close} />}
          onClose={onClose}
        />
      )
    case 'remove-totp':
      return (
        <PasswordDialog
          {...removal}
          title="Remove the authenticator app?"
          send={(body) => requestJson('POST', `${SECOND_FACTOR_PATH}/totp/remove`, body)}
          done="The authenticator app is removed."
        />
      )
    case 'add-passkey':
      return <NewPasskeyDialog onClose={onClose} />
    case 'new-codes':
      return (
        <PasswordDialog
          title="Make new recovery codes"
          submit="Make new codes"
          kind="primary"
          send={(body) => requestJson<NewRecoveryCodes>('POST', `${SECOND_FACTOR_PATH}/recovery-codes`, body)}
          stale={[SECOND_FACTOR_PATH]}
          then={showCodes}
          onClose={onClose}
        >
          <p>The codes you have no longer work then.</p>
        </PasswordDialog>
      )
    default:
      return (
        <PasswordDialog
          {...removal}
          title={`Remove the passkey “${open.passkey.name}”?`}
          send={(body) =>
            requestJson('POST', path`/console/api/second-factor/passkeys/${open.passkey.id}/remove`, body)
          }
          done="The passkey is removed."
        />
      )
  }
}

const Totp = ({ isOn, onOpen }: { isOn: boolean; onOpen: (open: Open) => void }) => (
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

function Passkeys(props: { passkeys: SecondFactorView['passkeys']; onOpen: (open: Open) => void }) {
  const { passkeys, onOpen } = props
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
