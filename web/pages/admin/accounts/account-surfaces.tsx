import { useQuery } from '@tanstack/react-query'
import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import type { OpenableSurface, SurfaceHolderRequest } from '../../../../src/core/api/surfaces/surfaces.ts'
import { accountSurfacesQuery } from '../../../api/operator-queries.ts'
import { path, requestJson } from '../../../api/request.ts'
import { ConfirmDialog, FormDialog } from '../../../components/feedback/dialogs.tsx'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { formatMoment } from '../../../lib/format.ts'
import { OperatorButton } from '../operator-button.tsx'
import { ActorName } from '../operators/audit-log.tsx'

type Grant = OpenableSurface['grants'][number]
type Account = Pick<OperatorAccountDetail, 'id' | 'name' | 'keys'>

/** The surfaces that operators open: which of them the account and its keys may use, since when, and who opened them. */
export const AccountSurfaces = ({ account }: { account: Account }) => (
  <QueryView query={useQuery(accountSurfacesQuery(account.id))}>
    {({ data }) => (
      <DataTable
        caption="Surfaces that operators open"
        rows={data}
        columns={{
          Surface: ({ method, path: address, behaviour }) => (
            <TwoLines second={behaviour}>
              <code className="wrap-anywhere">{`${method} ${address}`}</code>
            </TwoLines>
          ),
          'Open to': ({ grants }) => <Grants account={account} grants={grants} />,
          Actions: (surface) => (
            <OperatorButton
              needs="accounts.write"
              size="small"
              about={surface.id}
              dialog={(close) => <OpenDialog account={account} surface={surface} onClose={close} />}
            >
              Open
            </OperatorButton>
          ),
        }}
      />
    )}
  </QueryView>
)

function Grants({ account, grants }: { account: Account; grants: readonly Grant[] }) {
  if (grants.length === 0) return <span className="text-muted">nobody</span>
  return (
    <ul className="stack gap-2">
      {grants.map((grant) => {
        const holder = holderName(account, grant.key_id)
        return (
          <li key={grant.id} className="row justify-between gap-3">
            <TwoLines
              second={
                <>
                  since {formatMoment(grant.created_at)}
                  {grant.opened_by && (
                    <>
                      , by <ActorName actor={grant.opened_by} />
                    </>
                  )}
                </>
              }
            >
              {holder}
            </TwoLines>
            <OperatorButton
              needs="accounts.write"
              size="small"
              about={`${grant.surface} to ${holder}`}
              dialog={(close) => <CloseDialog account={account} grant={grant} onClose={close} />}
            >
              Close
            </OperatorButton>
          </li>
        )
      })}
    </ul>
  )
}

/** Stands for the account in the choice of a holder; no key has this id. */
const WHOLE_ACCOUNT = 'account'

function OpenDialog(props: { account: Account; surface: OpenableSurface; onClose: () => void }) {
  const { account, surface, onClose } = props
  const holders = [null, ...account.keys.flatMap(({ id, state }) => (state === 'active' ? [id] : []))]
    .filter((keyId) => surface.grants.every((grant) => grant.key_id !== keyId))
    .map((keyId) => ({ value: keyId ?? WHOLE_ACCOUNT, name: holderName(account, keyId) }))
  return (
    <FormDialog
      title={`Open ${surface.id}?`}
      submit="Open the surface"
      pending="Opening …"
      fields={{
        holder: {
          label: 'Open to',
          initial: holders[0]?.value ?? '',
          options: holders,
          required: 'It is open to all of them.',
        },
      }}
      send={({ holder }) => change('open', surface.id, account, holder === WHOLE_ACCOUNT ? null : holder)}
      stale={['/admin/api/accounts/']}
      done={`${surface.id} is open.`}
      onClose={onClose}
    >
      <p>
        <code className="wrap-anywhere">{`${surface.method} ${surface.path}`}</code> works for whom it is
        opened to within a second. For all others it remains an unknown path.
      </p>
    </FormDialog>
  )
}

function CloseDialog(props: { account: Account; grant: Grant; onClose: () => void }) {
  const { account, grant, onClose } = props
  return (
    <ConfirmDialog
      title={`Close ${grant.surface}?`}
      confirm="Close the surface"
      send={() => change('close', grant.surface, account, grant.key_id)}
      stale={['/admin/api/accounts/']}
      done={`${grant.surface} is closed.`}
      onClose={onClose}
    >
      <p>
        From the next second on it is an unknown path for <strong>{holderName(account, grant.key_id)}</strong>
        . Running calls complete.
      </p>
    </ConfirmDialog>
  )
}

const change = (verb: 'open' | 'close', surface: string, account: Account, keyId: string | null) =>
  requestJson(
    'POST',
    path`/admin/api/surfaces/${surface}/${verb}`,
    (keyId === null ? { account: account.id } : { key_id: keyId }) satisfies SurfaceHolderRequest,
  )

function holderName({ keys }: Account, keyId: string | null): string {
  if (keyId === null) return 'the account, with all its keys'
  const key = keys.find(({ id }) => id === keyId)
  return key ? `the key ${key.name || key.hint}` : keyId
}
