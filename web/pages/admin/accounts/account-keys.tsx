import { KeyRound } from 'lucide-react'
import type {
  CreatedOperatorKey,
  KeyLimitsRequest,
  NewCustomerKeyBody,
  OperatorKey,
} from '../../../../src/core/api/keys.ts'
import { path, requestJson } from '../../../api/request.ts'
import { FormDialog, SecretDialog } from '../../../components/feedback/dialogs.tsx'
import { EmptyState } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { useSelection } from '../../../components/table/selection.tsx'
import { Code } from '../../../components/text/code.tsx'
import { formatDate, formatMoment, plural, rateLimitsText } from '../../../lib/format.ts'
import { RevokeKeyDialog } from '../../keys/key-dialogs.tsx'
import { changedSettings, KeyInputs, type KeyValues, keyFields, NEW_KEY } from '../../keys/key-fields.tsx'
import { KeyName, SpendingLimit } from '../../keys/key-table.tsx'
import { OperatorButton } from '../operator-button.tsx'
import { BulkDialog } from './bulk-actions.tsx'

const STALE = ['/admin/api/accounts/']

/** The keys of an account by their first and last characters; secrets are not stored. */
export function AccountKeys(props: { accountId: string; keys: readonly OperatorKey[]; hasHolder: boolean }) {
  const { accountId, keys, hasHolder } = props
  const { selection, chosen, clear } = useSelection(
    keys,
    ({ name }) => `the key ${name}`,
    ({ state }) => state === 'active',
  )
  const count = plural(chosen.length, 'key')
  return (
    <Panel
      title="Keys"
      actions={
        <span className="row gap-2">
          {chosen.length > 0 && (
            <OperatorButton
              needs="accounts.suspend"
              size="small"
              dialog={(close) => (
                <BulkDialog
                  title={`Revoke ${count}?`}
                  submit="Revoke keys"
                  what="Requests with these keys will fail immediately. This can't be undone."
                  items={chosen}
                  asksReason={false}
                  send={({ id }) => requestJson('POST', path`/admin/api/keys/${id}/revoke`)}
                  stale={STALE}
                  done={`${count} revoked.`}
                  onDone={clear}
                  onClose={close}
                />
              )}
            >
              Revoke {count}
            </OperatorButton>
          )}
          {!hasHolder && (
            <OperatorButton
              needs="accounts.write"
              size="small"
              dialog={(close) => <NewKeyDialog accountId={accountId} onClose={close} />}
            >
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
        <DataTable
          caption="Keys of the account"
          rows={keys}
          selection={selection}
          columns={{
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
                <Code className="text-sm text-muted">{key.id}</Code>
              </KeyName>
            ),
            Limit: (key) => <SpendingLimit apiKey={key} />,
            'Rate limits': (key) => <RateLimits apiKey={key} />,
            Created: (key) => <span className="whitespace-nowrap">{formatDate(key.created_at)}</span>,
            Actions: (key) => key.state === 'active' && <KeyActions apiKey={key} />,
          }}
        />
      )}
    </Panel>
  )
}

function KeyActions({ apiKey }: { apiKey: OperatorKey }) {
  const isPaused = apiKey.paused_at !== null
  const about = `the key ${apiKey.name}`
  return (
    <span className="table-actions flex justify-end gap-1">
      <OperatorButton
        needs="accounts.write"
        size="small"
        about={about}
        dialog={(close) => <EditKeyDialog apiKey={apiKey} onClose={close} />}
      >
        Edit
      </OperatorButton>
      <OperatorButton
        needs="accounts.suspend"
        size="small"
        about={about}
        action={{
          send: () =>
            requestJson('POST', path`/admin/api/keys/${apiKey.id}/${isPaused ? 'resume' : 'pause'}`),
          stale: STALE,
          done: `API key “${apiKey.name}” ${isPaused ? 'resumed' : 'paused'}.`,
        }}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </OperatorButton>
      <OperatorButton
        needs="accounts.suspend"
        size="small"
        about={about}
        dialog={(close) => <RevokeKeyDialog isCustomers apiKey={apiKey} onClose={close} />}
      >
        Revoke
      </OperatorButton>
    </span>
  )
}

function RateLimits({ apiKey }: { apiKey: OperatorKey }) {
  const { customer_requests_per_minute: requests, customer_concurrent_calls: calls } = apiKey
  return (
    <TwoLines
      second={(requests ?? calls) !== null && `set by the customer: ${rateLimitsText(requests, calls)}`}
    >
      {rateLimitsText(apiKey.operator_requests_per_minute, apiKey.operator_concurrent_calls)}
    </TwoLines>
  )
}

const NewKeyDialog = ({ accountId, onClose }: { accountId: string; onClose: () => void }) => (
  <FormDialog
    title="Create a key for this account"
    submit="Create key"
    pending="Creating …"
    fields={keyFields(NEW_KEY)}
    send={(values) =>
      requestJson<CreatedOperatorKey>('POST', path`/admin/api/accounts/${accountId}/keys`, {
        name: '',
        ...changedSettings(values, NEW_KEY, 'operator'),
      } satisfies NewCustomerKeyBody)
    }
    stale={STALE}
    then={({ secret }, close) => (
      <SecretDialog
        title="Pass on this key"
        secret={secret}
        of="the key"
        copy="Copy key"
        warning="Copy this key now. We can't show it again."
        onClose={close}
      >
        <p>It belongs to the customer’s account, whose owner can edit and revoke it, too.</p>
      </SecretDialog>
    )}
    onClose={onClose}
  >
    {(fields) => <KeyInputs isOwner={false} {...fields} />}
  </FormDialog>
)

/** Changes the settings of a customer's key. Its rate limits here are those that the operator grants. */
function EditKeyDialog({ apiKey, onClose }: { apiKey: OperatorKey; onClose: () => void }) {
  const before: KeyValues = {
    ...NEW_KEY,
    name: apiKey.name,
    limit_usd: apiKey.limit_usd ?? '',
    limit_reset: apiKey.limit_reset,
    expires_at: apiKey.expires_at?.slice(0, '2027-01-31'.length) ?? '',
    requests_per_minute: String(apiKey.operator_requests_per_minute ?? ''),
    concurrent_calls: String(apiKey.operator_concurrent_calls ?? ''),
  }
  return (
    <FormDialog
      title={`Edit “${apiKey.name}”`}
      submit="Save changes"
      fields={keyFields(before)}
      send={async (values) => {
        const changed: KeyLimitsRequest = changedSettings(values, before, 'operator')
        if (Object.keys(changed).length > 0)
          await requestJson<OperatorKey>('POST', path`/admin/api/keys/${apiKey.id}/limits`, changed)
      }}
      stale={STALE}
      done={`API key “${apiKey.name}” saved. The changes apply within a second.`}
      onClose={onClose}
    >
      {(fields) => <KeyInputs isOwner={false} {...fields} />}
    </FormDialog>
  )
}
