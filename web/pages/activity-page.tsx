import type { AccountActionName } from '../../src/core/accounts/account-action.ts'
import type { ActivityEntry } from '../../src/core/api/organisations.ts'
import { activityQuery } from '../api/queries.ts'
import { PageHead } from '../components/layout/page.tsx'
import { DataTable, ListPanel } from '../components/table/data-table.tsx'
import { Breakable } from '../components/text/code.tsx'
import { Moment } from '../components/text/values.tsx'

/** What people did to the account. */
export const ActivityPage = () => (
  <>
    <PageHead title="Activity" description="Who changed what in this account, newest first." />
    <ListPanel
      title="All activity"
      query={activityQuery}
      empty="No activity yet. Changes of members, keys, limits, top-ups, provider keys and webhooks appear here."
    >
      {(entries) => (
        <DataTable
          caption="Activity, newest first"
          rows={entries}
          columns={{
            Action: ({ action }) => sentenceOf(action),
            When: ({ at }) => <Moment at={at} />,
            By: ({ person }) => <Breakable text={person} />,
            Target: ({ target }) => <Breakable text={target} />,
            Details: ({ details }) => <Details details={details} />,
          }}
          long={['Details']}
        />
      )}
    </ListPanel>
  </>
)

/** `key.revoked` is shown as "Key revoked". */
function sentenceOf(action: AccountActionName): string {
  const words = action.replaceAll(/[._]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function Details({ details }: { details: ActivityEntry['details'] }) {
  const facts = Object.entries(details).filter(([, value]) => value !== null && value !== '')
  if (facts.length === 0) return <span className="text-muted">–</span>
  return (
    <span className="wrap-anywhere">
      {facts.map(([name, value]) => `${name.replaceAll('_', ' ')}: ${String(value)}`).join('; ')}
    </span>
  )
}
