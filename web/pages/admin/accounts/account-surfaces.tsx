import { useQuery } from '@tanstack/react-query'
import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import type { OpenableSurface, SurfaceHolderRequest } from '../../../../src/core/api/surfaces/surfaces.ts'
import { accountSurfacesQuery } from '../../../api/operator-queries.ts'
import { path, requestJson } from '../../../api/request.ts'
import { ConfirmDialog, FormDialog } from '../../../components/feedback/dialogs.tsx'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { Code } from '../../../components/text/code.tsx'
import { CodeSpans } from '../../../components/text/code-spans.tsx'
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
        caption="Endpoints that operators open"
        rows={data}
        columns={{
          Endpoint: ({ method, path: address, behaviour }) => (
            <TwoLines second={<CodeSpans text={behaviour} />}>
              <Code>{`${method} ${address}`}</Code>
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
  if (grants.length === 0) return <span className="text-muted">not opened</span>
  return (
    <ul className="stack gap-2">
      {grants.map((grant) => {
        const holder = holderName(account, holderOf(grant))
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

/** Mean the account, and all accounts, in the choice of a holder; no key has these ids. */
const WHOLE_ACCOUNT = 'account'
const EVERY_ACCOUNT = 'every_account'

const holderOf = ({ account_id, key_id }: Grant): string =>
  key_id ?? (account_id === null ? EVERY_ACCOUNT : WHOLE_ACCOUNT)

function OpenDialog(props: { account: Account; surface: OpenableSurface; onClose: () => void }) {
  const { account, surface, onClose } = props
  const keys = account.keys.flatMap(({ id, state }) => (state === 'active' ? [id] : []))
  const holders = [WHOLE_ACCOUNT, ...keys, EVERY_ACCOUNT]
    .filter((holder) => surface.grants.every((grant) => holderOf(grant) !== holder))
    .map((holder) => ({ value: holder, name: holderName(account, holder) }))
  return (
    <FormDialog
      title={`Open ${surface.id}?`}
      submit="Open the endpoint"
      pending="Opening …"
      fields={{
        holder: {
          label: 'Open to',
          initial: holders[0]?.value ?? '',
          options: holders,
          required: 'It is open to all of them.',
        },
      }}
      send={({ holder }) => change('open', surface.id, account, holder)}
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
      confirm="Close the endpoint"
      send={() => change('close', grant.surface, account, holderOf(grant))}
      stale={['/admin/api/accounts/']}
      done={`${grant.surface} is closed.`}
      onClose={onClose}
    >
      <p>
        From the next second on it is an unknown path for{' '}
        <strong>{holderName(account, holderOf(grant))}</strong>. Running calls complete.
      </p>
    </ConfirmDialog>
  )
}

const change = (verb: 'open' | 'close', surface: string, account: Account, holder: string) =>
  requestJson('POST', path`/admin/api/surfaces/${surface}/${verb}`, requestFor(account, holder))

function requestFor(account: Account, holder: string): SurfaceHolderRequest {
  if (holder === EVERY_ACCOUNT) return { every_account: true }
  return holder === WHOLE_ACCOUNT ? { account: account.id } : { key_id: holder }
}

function holderName({ keys }: Account, holder: string): string {
  if (holder === EVERY_ACCOUNT) return 'every account'
  if (holder === WHOLE_ACCOUNT) return 'the account, with all its keys'
  const key = keys.find(({ id }) => id === holder)
  return key ? `the key ${key.name || key.hint}` : holder
}
