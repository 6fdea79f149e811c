import { useNavigate, useSearch } from '@tanstack/react-router'
import { activityQuery } from '../api/queries.ts'
import { PageHead } from '../components/layout/page.tsx'
import { ActionLog } from '../components/table/action-table.tsx'

/** What people did to the account. */
export function ActivityPage() {
  const { target } = useSearch({ from: '/account/activity' })
  const navigate = useNavigate({ from: '/activity' })
  return (
    <>
      <PageHead title="Activity" description="Who changed what in this account, newest first." />
      <ActionLog
        target={target}
        onTarget={(search) => void navigate({ search })}
        query={activityQuery(target)}
        empty="No activity yet. Changes of members, keys, limits, top-ups, provider keys and webhooks appear here."
      />
    </>
  )
}
