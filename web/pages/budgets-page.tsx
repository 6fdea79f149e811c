import { useQuery } from '@tanstack/react-query'
import { Plus, WalletCards } from 'lucide-react'
import type { GroupBudgetView } from '../../src/core/api/budgets.ts'
import { budgetsQuery, keysQuery, sessionQuery } from '../api/queries.ts'
import { path, queryString, requestJson } from '../api/request.ts'
import { ConfirmDialog, FormDialog } from '../components/feedback/dialogs.tsx'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { RowMenu } from '../components/form/row-menu.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { DataTable, TwoLines } from '../components/table/data-table.tsx'
import { BudgetBar } from '../components/text/budget-bar.tsx'
import { spendingLimitProblem } from '../lib/checks.ts'
import { formatAmount, formatCount, formatMoment } from '../lib/format.ts'
import { RESETS } from './keys/key-fields.tsx'

const PATH = '/console/api/budgets'
const STALE = [PATH, '/console/api/keys']
const SCOPES = { project: 'Project', tag: 'Tag', user: 'End user' } as const

const nameOf = ({ scope, value, tag }: Pick<GroupBudgetView, 'scope' | 'value' | 'tag'>) =>
  `${tag === null ? '' : `${tag} = `}${value ?? (scope === 'tag' ? 'any value' : 'any end user')}`

/** Budgets of projects, of the values of a tag and of end users. */
export function BudgetsPage() {
  const query = useQuery(budgetsQuery)
  const mayChange = (useQuery(sessionQuery).data?.permissions ?? []).includes('limits')
  const add = mayChange && (
    <Button icon={Plus} kind="primary" dialog={(close) => <BudgetDialog onClose={close} />}>
      New budget
    </Button>
  )
  return (
    <>
      <PageHead
        title="Budgets"
        docs="organisations"
        description="What projects, the values of one tag and end users may spend. A request that might exceed a budget is refused."
        actions={add}
      />
      <QueryView query={query}>
        {({ data }) => (
          <Panel title="Projects and budgets">
            {data.length === 0 ? (
              <EmptyState icon={WalletCards} action={add}>
                No budgets yet. Group API keys as a project, or bound every end user.
              </EmptyState>
            ) : (
              <DataTable
                caption="Budgets"
                rows={data}
                rowKey={({ scope, value }) => `${scope}:${value}`}
                numeric={['Limit', 'Used', 'Left', 'Requests']}
                columns={{
                  For: ({ scope }) => SCOPES[scope],
                  Name: (budget) => <span className="wrap-anywhere">{nameOf(budget)}</span>,
                  Limit: ({ limit_usd: limit, limit_reset: reset }) =>
                    limit === null ? 'None' : `${formatAmount(limit)} ${reset === 'none' ? '' : reset}`,
                  Used: ({ value, used_usd: used, limit_usd: limit }) =>
                    value === null ? (
                      '–'
                    ) : (
                      <TwoLines second={limit !== null && <BudgetBar spent={used} limit={limit} />}>
                        {formatAmount(used)}
                      </TwoLines>
                    ),
                  Left: ({ value, remaining_usd: left }) =>
                    value === null || left === null ? '–' : formatAmount(left),
                  Requests: ({ value, requests }) => (value === null ? '–' : formatCount(requests)),
                  Resets: ({ resets_at: at }) => (at === null ? 'Never' : formatMoment(at)),
                  Actions: mayChange && ((budget) => <Actions budget={budget} />),
                }}
              />
            )}
          </Panel>
        )}
      </QueryView>
    </>
  )
}

function Actions({ budget }: { budget: GroupBudgetView }) {
  const { scope, value } = budget
  const remove = `${PATH}${queryString({ scope, value: value ?? undefined })}`
  const mayUseKeys = (useQuery(sessionQuery).data?.permissions ?? []).includes('all_keys')
  return (
    <RowMenu
      about={nameOf(budget)}
      actions={[
        scope === 'project' &&
          mayUseKeys && {
            name: `Add key (${budget.keys})`,
            dialog: (close) => <AddKeyDialog project={value ?? ''} onClose={close} />,
          },
        { name: 'Edit', dialog: (close) => <BudgetDialog budget={budget} onClose={close} /> },
        !budget.is_default && {
          name: 'Delete',
          dialog: (close) => (
            <ConfirmDialog
              title={`Delete the budget of ${nameOf(budget)}?`}
              confirm="Delete budget"
              send={() => requestJson('DELETE', remove)}
              stale={STALE}
              onClose={close}
            >
              {scope === 'project'
                ? 'Its API keys stay, without a project.'
                : 'Calls are no longer refused by it.'}
            </ConfirmDialog>
          ),
        },
      ]}
    />
  )
}

function BudgetDialog({ budget, onClose }: { budget?: GroupBudgetView; onClose: () => void }) {
  return (
    <FormDialog
      title={budget ? `Edit the budget of ${nameOf(budget)}` : 'New budget'}
      submit={budget ? 'Save changes' : 'Create budget'}
      fields={{
        ...(!budget && {
          scope: {
            label: 'For',
            initial: 'project',
            options: Object.entries(SCOPES).map(([scope, name]) => ({ value: scope, name })),
          },
          value: {
            label: 'Project, value or end user',
            hint: 'Leave empty for every value of the tag, or every end user.',
          },
          tag: {
            label: 'Tag',
            placeholder: 'team',
            hint: 'Of every value of a tag: the member of “metadata” that has it.',
          },
        }),
        limit_usd: {
          label: 'Limit (USD)',
          initial: budget?.limit_usd ?? '',
          inputMode: 'decimal',
          placeholder: 'none',
          check: spendingLimitProblem,
        },
        limit_reset: { label: 'Resets', initial: budget?.limit_reset ?? 'monthly', options: RESETS },
      }}
      send={({ scope, value, tag, limit_usd: limit, limit_reset }: Record<string, string>) => {
        const ofRule = budget?.value === null ? budget.tag : null
        return requestJson<GroupBudgetView>('POST', PATH, {
          scope: budget?.scope ?? scope,
          value: budget ? budget.value : value || null,
          ...((tag || ofRule) && { tag: tag || ofRule }),
          limit_usd: limit || null,
          limit_reset,
        })
      }}
      stale={STALE}
      done="Budget saved."
      onClose={onClose}
    />
  )
}

function AddKeyDialog({ project, onClose }: { project: string; onClose: () => void }) {
  const keys = (useQuery(keysQuery).data?.data ?? []).filter(
    (key) => key.state !== 'revoked' && key.project !== project,
  )
  return (
    <FormDialog
      title={`Add a key to ${project}`}
      submit="Add key"
      fields={{
        id: {
          label: 'API key',
          options: keys.map(({ id, name, hint, project: other }) => ({
            value: id,
            name: `${name || hint}${other === null ? '' : ` (now in ${other})`}`,
          })),
        },
      }}
      send={({ id = '' }: Record<string, string>) =>
        requestJson('PATCH', path`/console/api/keys/${id}`, { project })
      }
      stale={STALE}
      done="Key added."
      onClose={onClose}
    />
  )
}
