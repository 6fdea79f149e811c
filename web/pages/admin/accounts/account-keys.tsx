import type { OperatorKey } from '../../../../src/core/api/keys.ts'
import { path, requestJson } from '../../../api/request.ts'
import { useAction } from '../../../api/use-change.ts'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { Code } from '../../../components/text/code.tsx'
import { formatDate, formatMoment, rateLimitsText } from '../../../lib/format.ts'
import { RevokeKeyDialog } from '../../keys/key-dialogs.tsx'
import { KeyName, SpendingLimit } from '../../keys/key-table.tsx'
import { OperatorMenu } from '../operator-button.tsx'

/** The keys of an account by their first and last characters; secrets are not stored. */
export function AccountKeys({ keys, hasHolder }: { keys: readonly OperatorKey[]; hasHolder: boolean }) {
  return (
    <Panel title="Keys">
      <DataTable
        caption="Keys of the account"
        rows={keys}
        empty={
          hasHolder
            ? 'No keys yet. The account owner creates them under API keys.'
            : 'No keys yet. Until the account has an owner who signed in: npm run admin -- key create --account ID.'
        }
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
    </Panel>
  )
}

function KeyActions({ apiKey }: { apiKey: OperatorKey }) {
  const { id, name, paused_at: pausedAt } = apiKey
  const verb = pausedAt === null ? 'pause' : 'resume'
  const { run } = useAction({
    send: () => requestJson('POST', path`/admin/api/keys/${id}/${verb}`),
    stale: ['/admin/api/accounts/'],
    done: `API key “${name}” ${verb}d.`,
  })
  return (
    <OperatorMenu
      about={`the key ${name}`}
      actions={[
        { name: verb === 'pause' ? 'Pause' : 'Resume', needs: 'accounts.suspend', run: () => run() },
        {
          name: 'Revoke',
          needs: 'accounts.suspend',
          dialog: (close) => <RevokeKeyDialog isCustomers apiKey={apiKey} onClose={close} />,
        },
      ]}
    />
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
