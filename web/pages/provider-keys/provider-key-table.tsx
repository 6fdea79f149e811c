import type { ByokKeyBody, ByokKeyPatch } from '../../../src/core/api/byok-keys.ts'
import { path, requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { CheckField } from '../../components/form/fields.tsx'
import { RowMenu } from '../../components/form/row-menu.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { StateBadge } from '../../components/text/values.tsx'
import { formatAgo, formatDate, formatMoment } from '../../lib/format.ts'

/** Provider keys with their status and settings. `names`: of providers, by id. */
export function ProviderKeyTable(props: { keys: readonly ByokKeyBody[]; names: Record<string, string> }) {
  const nameOf = ({ provider }: ByokKeyBody) => props.names[provider] ?? provider
  const change = useAction({
    send: ({ id, body }: { id: string; body: ByokKeyPatch }) =>
      requestJson<ByokKeyBody>('PATCH', path`/console/api/provider-keys/${id}`, body),
    stale: ['/console/api/provider-keys'],
  })
  return (
    <DataTable
      caption="Provider keys"
      rows={props.keys}
      columns={{
        Provider: (key) => (
          <TwoLines
            second={
              <>
                {key.name && `${key.name} · `}
                <code>…{key.last4}</code> · added {formatDate(key.created_at)}
              </>
            }
          >
            {nameOf(key)}
          </TwoLines>
        ),
        Status: (key) => <Status providerKey={key} />,
        Fallback: (key) => (
          <CheckField
            label={
              <>
                Use Shuntyard's keys<span className="sr-only"> for {nameOf(key)}</span>
              </>
            }
            checked={key.allow_fallback}
            onChange={(checked) => change.run({ id: key.id, body: { allow_fallback: checked } })}
          />
        ),
        Actions: (key) => (
          <RowMenu
            about={`the key for ${nameOf(key)}`}
            actions={[
              {
                name: key.status === 'disabled' ? 'Enable' : 'Disable',
                run: () => change.run({ id: key.id, body: { disabled: key.status !== 'disabled' } }),
              },
              {
                name: 'Remove',
                dialog: (close) => (
                  <ConfirmDialog
                    title={`Remove the key for ${nameOf(key)}?`}
                    confirm="Remove key"
                    send={() => requestJson('DELETE', path`/console/api/provider-keys/${key.id}`)}
                    stale={['/console/api/provider-keys']}
                    done="Provider key removed."
                    onClose={close}
                  >
                    <p>Calls to this provider will use Shuntyard's keys at Shuntyard's price.</p>
                  </ConfirmDialog>
                ),
              },
            ]}
          />
        ),
      }}
    />
  )
}

/** What went wrong with a key at its provider, by its code. */
const FAILURES: Record<string, string> = {
  unauthorized: 'The provider does not accept this key.',
  payment_required: 'The provider asks for payment.',
  forbidden: 'The provider does not permit this key to do what was asked.',
  unreachable: 'The provider could not be reached.',
}

function Status({ providerKey }: { providerKey: ByokKeyBody }) {
  const { status, failures, last_error: error, last_error_at: at } = providerKey
  return (
    <span className="stack gap-2">
      <span>
        <StateBadge state={status} />
      </span>
      {error && (
        <span className="text-sm">
          {FAILURES[error] ?? 'The provider refused this key.'}
          {failures > 1 && ` It failed ${failures} times in a row.`}
          {at && (
            <span className="text-muted">
              {' '}
              (last {formatAgo(at, new Date())}, {formatMoment(at)})
            </span>
          )}
        </span>
      )}
    </span>
  )
}
