import { useQuery } from '@tanstack/react-query'
import type { OperatorRole } from '../../../src/core/accounts/operator-permissions.ts'
import type { AdminKeyView, OperatorDetail } from '../../../src/core/api/operators.ts'
import { operatorSessionQuery, operatorsQuery } from '../../api/operator-queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Badge, Moment, StateBadge } from '../../components/text/values.tsx'
import { OperatorButton } from './operator-button.tsx'

/** The people who operate the gateway, their roles and their admin keys. */
export function OperatorsPage() {
  const query = useQuery(operatorsQuery)
  return (
    <>
      <PageHead
        title="Operators"
        description={
          <>
            The people who run this gateway. Each has a role, and the audit log names who changed what. To add
            one, change a role or create an admin key: <code>npm run admin -- operator add</code>,{' '}
            <code>operator role</code>, <code>admin-key create</code>.
          </>
        }
      />
      <QueryView query={query}>
        {({ data: operators }) => (
          <>
            <Panel title="Operators">
              <OperatorTable operators={operators} />
            </Panel>
            <Panel title="Admin keys">
              <AdminKeyTable operators={operators} />
            </Panel>
          </>
        )}
      </QueryView>
    </>
  )
}

interface TableProps {
  operators: readonly OperatorDetail[]
}

function OperatorTable({ operators }: TableProps) {
  const { data: session } = useQuery(operatorSessionQuery)
  return (
    <DataTable
      caption="Operators, oldest first"
      rows={operators}
      columns={{
        Name: ({ id, name, email }) => (
          <TwoLines second={email}>
            {name} {id === session?.operator_id && <Badge tone="accent">you</Badge>}
          </TwoLines>
        ),
        Role: ({ role }) => <TwoLines second={ROLE_WORDS[role].about}>{ROLE_WORDS[role].name}</TwoLines>,
        State: (operator) =>
          operator.state === 'active' && signInWays(operator) === null ? (
            <StateBadge state="pending" name="cannot sign in yet" />
          ) : (
            <StateBadge state={operator.state} />
          ),
        'Sign-in method': (operator) => signInWays(operator) ?? 'None: create an admin key',
        Added: ({ created_at: at }) => <Moment at={at} />,
        Actions: (operator) => {
          const verb = operator.state === 'disabled' ? 'enable' : 'disable'
          return (
            <OperatorButton
              needs="operators.write"
              size="small"
              about={operator.name}
              dialog={(close) => <OperatorStateDialog operator={operator} verb={verb} onClose={close} />}
            >
              {verb === 'enable' ? 'Enable' : 'Disable'}
            </OperatorButton>
          )
        },
      }}
    />
  )
}

function signInWays({ email, single_sign_on: hasSignedIn, keys }: OperatorDetail): string | null {
  const active = keys.filter(({ state }) => state === 'active').length
  const ways = [
    email !== null && (hasSignedIn ? 'single sign-on' : 'single sign-on, not yet used'),
    active > 0 && (active === 1 ? '1 admin key' : `${active} admin keys`),
  ]
  return ways.filter(Boolean).join('; ') || null
}

function AdminKeyTable({ operators }: TableProps) {
  const rows = operators.flatMap((operator) => operator.keys.map((key) => ({ ...key, operator })))
  return (
    <DataTable
      caption="Admin keys of all operators"
      rows={rows}
      empty="No admin keys yet."
      columns={{
        Key: ({ name, hint }) => <TwoLines second={<code>{hint}</code>}>{name || 'unnamed'}</TwoLines>,
        Operator: ({ operator }) => operator.name,
        State: ({ state }) => <StateBadge state={state} />,
        Created: ({ created_at: at }) => <Moment at={at} />,
        Expires: ({ expires_at: at }) => (at === null ? 'never' : <Moment at={at} />),
        Actions: ({ operator, ...adminKey }) =>
          adminKey.state === 'active' && (
            <OperatorButton
              needs="operators.write"
              size="small"
              about={adminKey.hint}
              dialog={(close) => (
                <RevokeAdminKeyDialog operator={operator} adminKey={adminKey} onClose={close} />
              )}
            >
              Revoke
            </OperatorButton>
          ),
      }}
    />
  )
}

/** The roles with what they include, most rights first. */
const ROLE_WORDS: Readonly<Record<OperatorRole, { name: string; about: string }>> = {
  admin: { name: 'Admin', about: 'everything, including the catalog, provider keys and operators' },
  billing: { name: 'Billing', about: 'accounts, keys, credits, adjustments, top-ups and audits' },
  support: { name: 'Support', about: 'suspends accounts and keys, handles alarms, breakers and queues' },
  viewer: { name: 'Viewer', about: 'reads everything, changes nothing' },
}

const STALE = ['/admin/api/operators', '/admin/api/actions']

interface OperatorDialogProps {
  operator: OperatorDetail
  onClose: () => void
}

function OperatorStateDialog(props: OperatorDialogProps & { verb: 'disable' | 'enable' }) {
  const { operator, verb, onClose } = props
  const isEnd = verb === 'disable'
  return (
    <ConfirmDialog
      title={isEnd ? `Disable ${operator.name}?` : `Enable ${operator.name}?`}
      confirm={isEnd ? 'Disable operator' : 'Enable operator'}
      send={() => requestJson('POST', path`/admin/api/operators/${operator.id}/${verb}`)}
      stale={STALE}
      done={`${operator.name} ${verb}d.`}
      onClose={onClose}
    >
      <p>
        {isEnd
          ? 'Their sessions end now, and their admin keys are rejected, also those that programs use.'
          : 'They can sign in again, and their admin keys that are not revoked work again.'}
      </p>
    </ConfirmDialog>
  )
}

function RevokeAdminKeyDialog(props: OperatorDialogProps & { adminKey: AdminKeyView }) {
  const { operator, adminKey, onClose } = props
  return (
    <ConfirmDialog
      title={`Revoke “${adminKey.name || adminKey.hint}”?`}
      confirm="Revoke key"
      send={() => requestJson('POST', path`/admin/api/admin-keys/${adminKey.id}/revoke`)}
      stale={STALE}
      done="Admin key revoked."
      onClose={onClose}
    >
      <p>
        Sessions of {operator.name} that began with <code>{adminKey.hint}</code> end, and programs that use it
        are rejected. This can't be undone.
      </p>
    </ConfirmDialog>
  )
}
