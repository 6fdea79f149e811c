import { useQuery } from '@tanstack/react-query'
import type { OperatorDetail } from '../../../src/core/api/operators.ts'
import { operatorSessionQuery, operatorsQuery } from '../../api/operator-queries.ts'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Badge, Moment, StateBadge } from '../../components/text/values.tsx'
import { ROLE_WORDS } from '../../lib/operators/operator-roles.ts'
import { OperatorButton, useIsPermitted } from './operator-button.tsx'
import {
  AddOperatorDialog,
  NewAdminKeyDialog,
  OperatorStateDialog,
  RevokeAdminKeyDialog,
  RoleDialog,
} from './operators/operator-dialogs.tsx'

/** The people who operate the gateway, their roles and their admin keys. */
export function OperatorsPage() {
  const query = useQuery(operatorsQuery)
  const mayChange = useIsPermitted('operators.write')
  return (
    <>
      <PageHead
        title="Operators"
        description="The people who run this gateway. Each has a role, and the audit log names who changed what."
        actions={
          <OperatorButton
            needs="operators.write"
            kind="primary"
            dialog={(close) => <AddOperatorDialog onClose={close} />}
          >
            Add operator
          </OperatorButton>
        }
      />
      {!mayChange && (
        <Note>Only admins add operators, change their roles, or create and revoke admin keys.</Note>
      )}
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
        Actions: (operator) => <OperatorActions operator={operator} />,
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

function OperatorActions({ operator }: { operator: OperatorDetail }) {
  const button = { needs: 'operators.write', size: 'small', about: operator.name } as const
  const isDisabled = operator.state === 'disabled'
  return (
    <span className="row justify-end gap-2">
      {!isDisabled && (
        <>
          <OperatorButton
            {...button}
            dialog={(close) => <NewAdminKeyDialog operator={operator} onClose={close} />}
          >
            Create key
          </OperatorButton>
          <OperatorButton {...button} dialog={(close) => <RoleDialog operator={operator} onClose={close} />}>
            Role
          </OperatorButton>
        </>
      )}
      <OperatorButton
        {...button}
        dialog={(close) => (
          <OperatorStateDialog operator={operator} verb={isDisabled ? 'enable' : 'disable'} onClose={close} />
        )}
      >
        {isDisabled ? 'Enable' : 'Disable'}
      </OperatorButton>
    </span>
  )
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
