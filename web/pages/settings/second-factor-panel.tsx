import { useQuery } from '@tanstack/react-query'
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

const REMOVAL = { submit: 'Remove', kind: 'danger', stale: [SECOND_FACTOR_PATH] } as const

/** What signing in takes beside the password. */
export function SecondFactorPanel() {
  const query = useQuery(secondFactorQuery)
  return (
    <Panel title="Two-step sign-in" padded>
      <QueryView query={query}>
        {(view) => (
          <Facts
            rows={{
              'Authenticator app': <Totp isOn={view.totp} />,
              Passkeys: <Passkeys passkeys={view.passkeys} />,
              'Recovery codes': (view.totp || view.passkeys.length > 0) && (
                <span className="row gap-x-3 gap-y-1">
                  {plural(view.recovery_codes_left, 'code')} left
                  <Button size="small" dialog={(close) => <NewCodesDialog onClose={close} />}>
                    Make new codes
                  </Button>
                </span>
              ),
            }}
          />
        )}
      </QueryView>
    </Panel>
  )
}

const NewCodesDialog = ({ onClose }: { onClose: () => void }) => (
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

/** Both dialogs are one element, which stays open once the app is on: codes are shown then. */
const Totp = ({ isOn }: { isOn: boolean }) => (
  <span className="row gap-x-3 gap-y-1">
    {isOn ? 'On' : 'Off'}
    <Button
      size="small"
      about="the authenticator app"
      dialog={(close) =>
        isOn ? (
          <PasswordDialog
            {...REMOVAL}
            title="Remove the authenticator app?"
            send={(body) => requestJson('POST', `${SECOND_FACTOR_PATH}/totp/remove`, body)}
            done="The authenticator app is removed."
            onClose={close}
          />
        ) : (
          <PasswordDialog
            title="Set up an authenticator app"
            submit="Continue"
            kind="primary"
            send={(body) => requestJson<NewTotp>('POST', `${SECOND_FACTOR_PATH}/totp`, body)}
            then={(totp, done) => <TotpDialog totp={totp} onClose={done} />}
            onClose={close}
          />
        )
      }
    >
      {isOn ? 'Remove' : 'Set up'}
    </Button>
  </span>
)

function Passkeys({ passkeys }: { passkeys: SecondFactorView['passkeys'] }) {
  const problem = passkeyProblem()
  return (
    <span className="stack gap-2">
      {passkeys.map(({ id, name, last_used_at: usedAt }) => (
        <span key={id} className="row gap-x-3 gap-y-1">
          <span className="wrap-anywhere">{name}</span>
          <span className="text-sm text-muted">
            {usedAt === null ? 'never used' : `last used ${formatDate(usedAt)}`}
          </span>
          <Button
            size="small"
            about={name}
            dialog={(close) => (
              <PasswordDialog
                {...REMOVAL}
                title={`Remove the passkey “${name}”?`}
                send={(body) =>
                  requestJson('POST', path`/console/api/second-factor/passkeys/${id}/remove`, body)
                }
                done="The passkey is removed."
                onClose={close}
              />
            )}
          >
            Remove
          </Button>
        </span>
      ))}
      {problem === null ? (
        <span>
          <Button size="small" dialog={(close) => <NewPasskeyDialog onClose={close} />}>
            Add a passkey
          </Button>
        </span>
      ) : (
        <span className="text-sm text-muted">{problem}</span>
      )}
    </span>
  )
}
