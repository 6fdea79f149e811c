import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { ClipboardList } from 'lucide-react'
import { useState } from 'react'
import { actionsQuery } from '../../api/operator-queries.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Form } from '../../components/form.tsx'
import { PageHead } from '../../components/page-head.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextField } from '../../components/text-field.tsx'
import { ActionTable } from './action-table.tsx'

/** Who did what: every change by an operator, written down before it was made. */
export function ActionsPage() {
  const { target } = useSearch({ from: '/operator/admin/actions' })
  const navigate = useNavigate({ from: '/admin/actions' })
  const [text, setText] = useState(target ?? '')
  const query = useInfiniteQuery(actionsQuery(target))
  return (
    <>
      <PageHead
        title="Actions"
        description="Who did what. Each is written down before it is done; one that was refused or broke has a second line, failed."
      />
      <Form
        className="toolbar"
        error={null}
        onSubmit={() => void navigate({ search: text.trim() === '' ? {} : { target: text.trim() } })}
      >
        <TextField
          className="field-wide"
          label="On the account, key, offer … with the id"
          type="search"
          value={text}
          onChange={setText}
        />
        <button type="submit" className="button button-primary">
          Search
        </button>
      </Form>
      <Panel title={target ? `Actions on ${target}` : 'All actions'}>
        <PageList
          query={query}
          empty={
            <EmptyState icon={ClipboardList}>
              {target
                ? 'Nothing was done to this. The whole id is searched for.'
                : 'No operator has changed anything yet. Suspensions, credits, catalog edits and the like appear here.'}
            </EmptyState>
          }
        >
          {(actions) => <ActionTable actions={actions} />}
        </PageList>
      </Panel>
    </>
  )
}
