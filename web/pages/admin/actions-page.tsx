import { useNavigate, useSearch } from '@tanstack/react-router'
import { ClipboardList } from 'lucide-react'
import { actionsQuery } from '../../api/operator-queries.ts'
import { SearchForm } from '../../components/form/form.tsx'
import { PageHead } from '../../components/layout/page.tsx'
import { ListPanel } from '../../components/table/data-table.tsx'
import { ActionTable } from './action-table.tsx'

/** The audit log of operators: every change, recorded before it was made. */
export function ActionsPage() {
  const { target } = useSearch({ from: '/operator/admin/actions' })
  const navigate = useNavigate({ from: '/admin/actions' })
  return (
    <>
      <PageHead
        title="Actions"
        description="The audit log of operators. Each action is recorded before it is carried out; one that was refused or did not complete has a second row, failed."
      />
      <SearchForm
        label="On the account, key, offer … with the id"
        initial={target}
        onSearch={(text) => void navigate({ search: text === '' ? {} : { target: text } })}
      />
      <ListPanel
        title={target ? `Actions on ${target}` : 'All actions'}
        query={actionsQuery(target)}
        icon={ClipboardList}
        empty={
          target
            ? 'No action on this target. Search for the whole id.'
            : 'No operator has changed anything yet. Suspensions, credits, catalog edits and other changes appear here.'
        }
      >
        {(actions) => <ActionTable actions={actions} />}
      </ListPanel>
    </>
  )
}
