import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminKeyView, CreatedAdminKey, OperatorDetail } from '../../../src/core/api/operators.ts'
import { operatorSessionQuery, operatorsQuery } from '../../api/operator-queries.ts'
import { SecretDialog } from '../../components/feedback/dialogs.tsx'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Badge, StateBadge } from '../../components/text/values.tsx'
import { formatMoment } from '../../lib/format.ts'
import { ROLE_WORDS } from '../../lib/operators/operator-roles.ts'
import { OperatorButton, useIsPermitted } from './operator-button.tsx'
import {
  AddOperatorDialog,
  NewAdminKeyDialog,
  OperatorStateDialog,
  RevokeAdminKeyDialog,
  RoleDialog,
} from './operators/operator-dialogs.tsx'

type Opened =
  | { dialog: 'add' }
  | { dialog: 'role' | 'disable' | 'enable' | 'key'; operator: OperatorDetail }
  | { dialog: 'revoke'; operator: OperatorDetail; adminKey: AdminKeyView }

/** The people who operate the gateway, their roles and their admin keys. */
export function OperatorsPage() {
  const query = useQuery(operatorsQuery)
  const [opened, setOpened] = useState<Opened | null>(null)
  const [created, setCreated] = useState<CreatedAdminKey | null>(null)
  const mayChange = useIsPermitted('operators.write')
  const close = () => setOpened(null)
  return (
    <>
      <PageHead
        title="Operators"
        description="The people who run this gateway. Each has a role, and the audit log names who changed what."
        actions={
          <OperatorButton needs="operators.write" kind="primary" onClick={() => setOpened({ dialog: 'add' })}>
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
              <OperatorTable operators={operators} open={setOpened} />
            </Panel>
            <Panel title="Admin keys">
              <AdminKeyTable operators={operators} open={setOpened} />
            </Panel>
          </>
        )}
      </QueryView>
      {opened?.dialog === 'add' && <AddOperatorDialog onClose={close} />}
      {opened?.dialog === 'role' && <RoleDialog operator={opened.operator} onClose={close} />}
      {(opened?.dialog === 'disable' || opened?.dialog === 'enable') && (
        <OperatorStateDialog operator={opened.operator} verb={opened.dialog} onClose={close} />
      )}
      {opened?.dialog === 'key' && (
        <NewAdminKeyDialog operator={opened.operator} onClose={close} onCreated={setCreated} />
      )}
      {opened?.dialog === 'revoke' && (
        <RevokeAdminKeyDialog operator={opened.operator} adminKey={opened.adminKey} onClose={close} />
      )}
      {created && (
        <SecretDialog
          title="Admin key created"
          secret={created.secret}
          of="the admin key"
          copy="Copy key"
          warning="Copy the key now. It isn't shown again."
          onClose={() => setCreated(null)}
        >
          <p>
            It signs in at <code>/admin/sign-in</code>, and authenticates programs as a bearer token.
          </p>
        </SecretDialog>
      )}
    </>
  )
}

interface TableProps {
  operators: readonly OperatorDetail[]
  open: (opened: Opened) => void
}

function OperatorTable({ operators, open }: TableProps) {
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
        State: ({ state }) => <StateBadge state={state} />,
        'Signs in by': (operator) => signInWays(operator),
        Added: ({ created_at: at }) => <span className="whitespace-nowrap">{formatMoment(at)}</span>,
        Actions: (operator) => <OperatorActions operator={operator} open={open} />,
      }}
    />
  )
}

function signInWays({ email, single_sign_on: hasSignedIn, keys }: OperatorDetail): string {
  const active = keys.filter(({ state }) => state === 'active').length
  const ways = [
    email !== null && (hasSignedIn ? 'single sign-on' : 'single sign-on, not yet used'),
    active > 0 && (active === 1 ? '1 admin key' : `${active} admin keys`),
  ]
  return ways.filter(Boolean).join('; ') || 'nothing yet: create an admin key'
}

function OperatorActions({ operator, open }: { operator: OperatorDetail; open: TableProps['open'] }) {
  const button = { needs: 'operators.write', size: 'small', about: operator.name } as const
  if (operator.state === 'disabled')
    return (
      <OperatorButton {...button} onClick={() => open({ dialog: 'enable', operator })}>
        Enable
      </OperatorButton>
    )
  return (
    <span className="row justify-end gap-2">
      <OperatorButton {...button} onClick={() => open({ dialog: 'key', operator })}>
        Create key
      </OperatorButton>
      <OperatorButton {...button} onClick={() => open({ dialog: 'role', operator })}>
        Role
      </OperatorButton>
      <OperatorButton {...button} onClick={() => open({ dialog: 'disable', operator })}>
        Disable
      </OperatorButton>
    </span>
  )
}

function AdminKeyTable({ operators, open }: TableProps) {
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
        Created: ({ created_at: at }) => <span className="whitespace-nowrap">{formatMoment(at)}</span>,
        Expires: ({ expires_at: at }) => (at === null ? 'never' : formatMoment(at)),
        Actions: ({ operator, ...adminKey }) =>
          adminKey.state === 'active' && (
            <OperatorButton
              needs="operators.write"
              size="small"
              about={adminKey.hint}
              onClick={() => open({ dialog: 'revoke', operator, adminKey })}
            >
              Revoke
            </OperatorButton>
          ),
      }}
    />
  )
}
