import { useNavigate, useSearch } from '@tanstack/react-router'
import { actionsQuery } from '../../api/operator-queries.ts'
import { PageHead } from '../../components/layout/page.tsx'
import { ActionLog } from '../../components/table/action-table.tsx'

/** The audit log of operators: every change, recorded before it was made. */
export function ActionsPage() {
  const { target } = useSearch({ from: '/operator/admin/actions' })
  const navigate = useNavigate({ from: '/admin/actions' })
  return (
    <>
      <PageHead
        title="Audit log"
        description="Admin activity. Actions are logged before they run; failures are logged too."
      />
      <ActionLog
        target={target}
        onTarget={(search) => void navigate({ search })}
        query={actionsQuery(target)}
        empty="No activity yet. Suspensions, credits, catalog overrides and other changes appear here."
      />
    </>
  )
}
