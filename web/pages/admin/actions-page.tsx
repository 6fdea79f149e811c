import { useNavigate, useSearch } from '@tanstack/react-router'
import { actionsQuery } from '../../api/operator-queries.ts'
import { SearchForm } from '../../components/form/form.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { ListPanel } from '../../components/table/data-table.tsx'
import { ActionTable } from './operators/audit-log.tsx'

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
      <SearchForm
        label="Target"
        placeholder="Email, or ID of an account, key or offer"
        initial={target}
        onSearch={(text) => void navigate({ search: text === '' ? {} : { target: text } })}
      />
      <ListPanel
        title={target ? `Activity for ${target}` : 'All activity'}
        query={actionsQuery(target)}
        empty={
          target
            ? 'No activity for this target. Search for the full email or ID.'
            : 'No admin activity yet. Suspensions, credits, catalog overrides and other changes appear here.'
        }
      >
        {(actions) => <ActionTable actions={actions} />}
      </ListPanel>
    </>
  )
}
