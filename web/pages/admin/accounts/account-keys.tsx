import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { CreatedOperatorKey, NewKeyBody, OperatorKey } from '../../../../src/core/api/keys.ts'
import { path, requestJson } from '../../../api/request.ts'
import { useAction } from '../../../api/use-change.ts'
import { FormDialog, SecretDialog } from '../../../components/feedback/dialogs.tsx'
import { EmptyState } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { formatDate, formatMoment, plural, rateLimitsText } from '../../../lib/format.ts'
import { RevokeKeyDialog } from '../../keys/key-dialogs.tsx'
import { changedSettings, KeyFields, keyProblems, NEW_KEY } from '../../keys/key-fields.tsx'
import { KeyName, SpendingLimit } from '../../keys/key-table.tsx'
import { OperatorButton } from '../operator-button.tsx'
import { BulkDialog, SelectBox, useSelection } from './bulk-actions.tsx'
import { EditCustomerKeyDialog } from './edit-key-dialog.tsx'

const STALE = ['/admin/api/accounts/']

/** The keys of an account by their first and last characters; secrets are not stored. */
export function AccountKeys(props: { accountId: string; keys: readonly OperatorKey[]; hasHolder: boolean }) {
  const { accountId, keys, hasHolder } = props
  const [open, setOpen] = useState<'create' | 'revoke' | null>(null)
  const [created, setCreated] = useState<CreatedOperatorKey | null>(null)
  const inUse = keys.filter(({ state }) => state === 'active')
  const selection = useSelection(inUse)
  const close = () => setOpen(null)
  return (
    <Panel
      title="Keys"
      actions={
        <span className="row gap-2">
          {selection.chosen.length > 0 && (
            <OperatorButton
              needs="accounts.suspend"
              size="small"
              kind="danger"
              onClick={() => setOpen('revoke')}
            >
              Revoke {plural(selection.chosen.length, 'key')}
            </OperatorButton>
          )}
          {!hasHolder && (
            <OperatorButton needs="accounts.write" size="small" onClick={() => setOpen('create')}>
              Create key
            </OperatorButton>
          )}
        </span>
      }
    >
      {keys.length === 0 ? (
        <EmptyState icon={KeyRound}>
          {hasHolder
            ? 'No keys yet. The account owner creates them under API keys.'
            : 'No keys yet. Until the account has an owner who signed in, you create them here.'}
        </EmptyState>
      ) : (
        <KeyRows keys={keys} selection={selection} />
      )}
      {open === 'create' && <NewKeyDialog accountId={accountId} onClose={close} onCreated={setCreated} />}
      {open === 'revoke' && (
        <BulkDialog
          title={`Revoke ${plural(selection.chosen.length, 'key')}?`}
          submit="Revoke keys"
          what="Requests with these keys will fail immediately. This can't be undone."
          items={selection.chosen}
          asksReason={false}
          send={({ id }) => requestJson('POST', path`/admin/api/keys/${id}/revoke`)}
          stale={STALE}
          done={`${plural(selection.chosen.length, 'key')} revoked.`}
          onDone={selection.clear}
          onClose={close}
        />
      )}
      {created && (
        <SecretDialog
          title="Pass on this key"
          secret={created.secret}
          of="the key"
          copy="Copy key"
          warning="Copy this key now. We can't show it again."
          onClose={() => setCreated(null)}
        >
          <p>It belongs to the customer’s account, whose owner can edit and revoke it, too.</p>
        </SecretDialog>
      )}
    </Panel>
  )
}

function KeyRows(props: {
  keys: readonly OperatorKey[]
  selection: ReturnType<typeof useSelection<OperatorKey>>
}) {
  const { keys, selection } = props
  const [revoking, setRevoking] = useState<OperatorKey | null>(null)
  const [editing, setEditing] = useState<OperatorKey | null>(null)
  const pause = useAction({
    send: ({ id, paused_at: at }: OperatorKey) =>
      requestJson<OperatorKey>('POST', path`/admin/api/keys/${id}/${at === null ? 'pause' : 'resume'}`),
    stale: STALE,
    done: ({ name, paused_at: at }) => `API key “${name}” ${at === null ? 'resumed' : 'paused'}.`,
  })
  return (
    <>
      <DataTable
        caption="Keys of the account"
        rows={keys}
        title="Key"
        columns={{
          Select: (key) =>
            key.state === 'active' && (
              <SelectBox
                about={`the key ${key.name}`}
                checked={selection.has(key.id)}
                onChange={() => selection.toggle(key.id)}
              />
            ),
          Key: (key) => (
            <KeyName apiKey={key}>
              {key.state === 'active' && key.paused_at !== null && (
                <span className="text-sm text-muted">
                  paused {formatMoment(key.paused_at)}{' '}
                  {key.paused_by === 'operator' ? 'by an operator' : 'by the customer'}
                </span>
              )}
              {key.state === 'active' && key.expires_at !== null && (
                <span className="text-sm text-muted">expires {formatMoment(key.expires_at)}</span>
              )}
              <code className="text-sm text-muted wrap-anywhere">{key.id}</code>
            </KeyName>
          ),
          Limit: (key) => <SpendingLimit apiKey={key} />,
          'Rate limits': (key) => <RateLimits apiKey={key} />,
          Created: (key) => formatDate(key.created_at),
          Actions: (key) =>
            key.state === 'active' && (
              <span className="table-actions flex justify-end gap-1">
                <OperatorButton
                  needs="accounts.write"
                  size="small"
                  about={`the key ${key.name}`}
                  onClick={() => setEditing(key)}
                >
                  Edit
                </OperatorButton>
                <OperatorButton
                  needs="accounts.suspend"
                  size="small"
                  about={`the key ${key.name}`}
                  disabled={pause.isPending}
                  onClick={() => pause.run(key)}
                >
                  {key.paused_at === null ? 'Pause' : 'Resume'}
                </OperatorButton>
                <OperatorButton
                  needs="accounts.suspend"
                  size="small"
                  about={`the key ${key.name}`}
                  onClick={() => setRevoking(key)}
                >
                  Revoke
                </OperatorButton>
              </span>
            ),
        }}
      />
      {revoking && <RevokeKeyDialog isCustomers apiKey={revoking} onClose={() => setRevoking(null)} />}
      {editing && <EditCustomerKeyDialog apiKey={editing} onClose={() => setEditing(null)} />}
    </>
  )
}

function RateLimits({ apiKey }: { apiKey: OperatorKey }) {
  const { customer_requests_per_minute: requests, customer_concurrent_calls: calls } = apiKey
  return (
    <TwoLines
      second={(requests ?? calls) !== null && `set by the customer: ${rateLimitsText(requests, calls)}`}
    >
      {rateLimitsText(apiKey.requests_per_minute, apiKey.concurrent_calls)}
    </TwoLines>
  )
}

function NewKeyDialog(props: {
  accountId: string
  onClose: () => void
  onCreated: (key: CreatedOperatorKey) => void
}) {
  const { accountId, onClose, onCreated } = props
  return (
    <FormDialog
      title="Create a key for this account"
      submit="Create key"
      pending="Creating …"
      initial={NEW_KEY}
      check={(values) => keyProblems(values, undefined)}
      send={(values) =>
        requestJson<CreatedOperatorKey>('POST', path`/admin/api/accounts/${accountId}/keys`, {
          name: '',
          ...changedSettings(values, NEW_KEY),
        } satisfies NewKeyBody)
      }
      stale={STALE}
      onDone={onCreated}
      onClose={onClose}
    >
      {(field) => <KeyFields isOwner={false} field={field} maxima={undefined} />}
    </FormDialog>
  )
}
