import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { refusalsQuery } from '../../api/operator-queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { ChoiceField } from '../../components/form/fields.tsx'
import { SearchForm } from '../../components/form/form.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { RefusalChart, RefusalTable } from '../../components/table/refusal-table.tsx'
import { SPANS } from '../../lib/calls/call-filters.ts'
import { lastDays } from '../../lib/format.ts'
import { AccountLink } from './links.tsx'

/** What was refused before a call was admitted, of all accounts or one. */
export function Refusals() {
  const { account, days = '1' } = useSearch({ from: '/operator/admin/calls' })
  const navigate = useNavigate({ from: '/admin/calls' })
  const { from } = useMemo(() => lastDays(Number(days) || 1, new Date()), [days])
  return (
    <>
      <SearchForm
        key={account}
        label="Account"
        placeholder="Email, name or ID"
        initial={account}
        onSearch={(text) =>
          void navigate({
            search: ({ account: _, ...kept }) => (text === '' ? kept : { ...kept, account: text }),
          })
        }
      />
      <Panel
        title={account ? `Refused requests of ${account}` : 'By reason and key'}
        actions={
          <ChoiceField
            label="Period"
            value={days}
            options={SPANS}
            onChange={(value) =>
              void navigate({ search: (kept) => ({ ...kept, days: value }), replace: true })
            }
          />
        }
      >
        <QueryView query={useQuery(refusalsQuery({ account, from }))}>
          {(refusals) => (
            <>
              {refusals.data.length > 0 && <RefusalChart refusals={refusals} />}
              <RefusalTable
                rows={refusals.data}
                empty="No request was refused in this period."
                account={({ account_id: id, account_name: name }) =>
                  id ? (
                    <AccountLink id={id} name={name ?? null} />
                  ) : (
                    <span className="text-muted">not known</span>
                  )
                }
              />
            </>
          )}
        </QueryView>
      </Panel>
    </>
  )
}
