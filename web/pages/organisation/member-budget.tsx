import type { MemberBudgetBody, MemberView } from '../../../src/core/api/organisations.ts'
import { path, requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { TwoLines } from '../../components/table/data-table.tsx'
import { BudgetBar } from '../../components/text/budget-bar.tsx'
import { Money } from '../../components/text/money.tsx'
import { spendingLimitProblem } from '../../lib/checks.ts'

/** What a member may spend in a month, and how much of it is spent. */
export function MemberBudget({ member }: { member: MemberView }) {
  const { monthly_budget_usd: budget, spent_usd: spent } = member
  if (budget === null) return 'none'
  return (
    <TwoLines second={<BudgetBar spent={spent} limit={budget} />}>
      <Money usd={budget} />
    </TwoLines>
  )
}

export function BudgetDialog({ member, onClose }: { member: MemberView; onClose: () => void }) {
  return (
    <FormDialog
      title={`Budget of ${member.email}`}
      submit="Save"
      pending="Saving …"
      initial={{ monthly_budget_usd: member.monthly_budget_usd ?? '' }}
      check={({ monthly_budget_usd: usd }) => ({ monthly_budget_usd: spendingLimitProblem(usd) })}
      send={({ monthly_budget_usd: usd }) =>
        requestJson('PATCH', path`/console/api/members/${member.id}/budget`, {
          monthly_budget_usd: usd === '' ? null : usd,
        } satisfies MemberBudgetBody)
      }
      stale={['/console/api/members']}
      done="Budget saved."
      onClose={onClose}
    >
      {(field) => (
        <TextField
          label="Budget per month (USD)"
          {...field('monthly_budget_usd')}
          inputMode="decimal"
          placeholder="no budget"
          hint="For all API keys that the member created. Requests that could exceed it are refused until the month (UTC) is over. Leave empty for no budget."
        />
      )}
    </FormDialog>
  )
}
