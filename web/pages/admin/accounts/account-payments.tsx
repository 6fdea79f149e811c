import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { OperatorAccountDetail, RefundTopUpRequest } from '../../../../src/core/api/accounts.ts'
import type { AutoTopUpView } from '../../../../src/core/api/auto-top-up.ts'
import type { OperatorTopUp } from '../../../../src/core/api/billing.ts'
import { accountBillingQuery, operatorInvoicePath } from '../../../api/operator-queries.ts'
import { path, requestJson } from '../../../api/request.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { AUDIT_REASON } from '../../../components/form/field-specs.ts'
import { CheckField } from '../../../components/form/fields.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { InvoiceTable } from '../../../components/table/invoice-table.tsx'
import { Code } from '../../../components/text/code.tsx'
import { Money } from '../../../components/text/money.tsx'
import { Facts, Moment, StateBadge } from '../../../components/text/values.tsx'
import { cardName } from '../../../lib/card-name.ts'
import { isWholeCents } from '../../../lib/checks.ts'
import { formatAmount, formatMoment, RAIL_NAMES, topUpStateName } from '../../../lib/format.ts'
import { OperatorButton } from '../operator-button.tsx'

const RAILS: Record<OperatorTopUp['rail'], string> = { ...RAIL_NAMES, stripe: 'Stripe' }

/** Payments received, refunds of them, and suspensions after reversed payments. */
export function AccountTopUps({ account }: { account: OperatorAccountDetail }) {
  const { top_ups: topUps, suspensions } = account
  return (
    <>
      <DataTable
        caption="Top-ups, newest first"
        rows={topUps}
        empty="No top-ups yet."
        columns={{
          Payment: ({ id }) => <Code>{id}</Code>,
          'Payment method': ({ rail }) => RAILS[rail],
          State: (topUp) => (
            <StateBadge state={topUp.state} name={topUpStateName(topUp.state, centsLeft(topUp) > 0)} />
          ),
          Requested: ({ amount_usd: usd }) => <Money usd={usd} />,
          Settled: ({ settled_usd: usd }) => <Money usd={usd} />,
          Returned: ({ returned_usd: usd }) => <Money usd={usd} />,
          Created: (topUp) => <Moment at={topUp.created_at} />,
          Actions: (topUp) =>
            centsLeft(topUp) > 0 && (
              <OperatorButton
                needs="billing.write"
                size="small"
                about={`top-up ${topUp.id}`}
                dialog={(close) => <RefundDialog account={account} topUp={topUp} onClose={close} />}
              >
                Refund
              </OperatorButton>
            ),
        }}
        cents={['Requested', 'Settled', 'Returned']}
        lead="Settled"
      />
      {suspensions.length > 0 && (
        <DataTable
          caption="Suspensions after reversed payments"
          rows={suspensions}
          columns={{
            'Suspended for': ({ reason }) => reason,
            When: ({ at }) => <Moment at={at} />,
            Payment: (row) => <Code>{row.payment_id}</Code>,
            'Short by': ({ shortfall_usd: usd }) => <Money usd={usd} />,
          }}
          cents={['Short by']}
        />
      )}
    </>
  )
}

/** What can still be refunded of a top-up, in whole cents. */
const centsLeft = ({ settled_usd, returned_usd, disputed_usd }: OperatorTopUp): number =>
  Math.round((Number(settled_usd) - Number(returned_usd) - Number(disputed_usd)) * 100)

/** Refunds a top-up, whole or in part, with a reason for the audit log. */
function RefundDialog(props: { account: OperatorAccountDetail; topUp: OperatorTopUp; onClose: () => void }) {
  const { account, topUp, onClose } = props
  const [isForced, setIsForced] = useState(false)
  const left = (centsLeft(topUp) / 100).toFixed(2)
  return (
    <FormDialog
      title="Refund this top-up?"
      submit="Refund"
      pending="Refunding …"
      kind="danger"
      fields={{
        amount_usd: {
          label: 'Amount (USD)',
          initial: left,
          inputMode: 'decimal',
          hint: (
            <>
              Up to <Money usd={left} />
            </>
          ),
          required: true,
          check: (amount) =>
            isWholeCents(amount) && Number(amount) <= Number(left)
              ? null
              : `Enter an amount up to ${left}, in whole cents.`,
        },
        reason: AUDIT_REASON,
      }}
      send={(values) =>
        requestJson<OperatorTopUp>(
          'POST',
          path`/admin/api/accounts/${account.id}/top-ups/${topUp.id}/refund`,
          { ...values, returned_usd: topUp.returned_usd, force: isForced } satisfies RefundTopUpRequest,
        )
      }
      stale={['/admin/api']}
      done={({ returned_usd: usd }) => `${formatAmount(usd)} of this top-up is returned now.`}
      onClose={onClose}
      foot={
        <CheckField
          label="Also refund more than the balance. The account owes the rest and is suspended."
          checked={isForced}
          onChange={setIsForced}
        />
      }
    >
      <p>
        The money is taken from the balance of <strong>{account.name}</strong>, which is{' '}
        <Money usd={account.balance_usd} />, and returned by {RAILS[topUp.rail].toLowerCase()}. A refund
        cannot be undone.
      </p>
    </FormDialog>
  )
}

/** The saved card, automatic top-ups and invoices of an account. */
export function AccountBillingPanels({ accountId }: { accountId: string }) {
  const query = useQuery(accountBillingQuery(accountId))
  return (
    <>
      <Panel title="Automatic top-up" padded>
        <QueryView query={query}>{({ auto_top_up: view }) => <AutoTopUp view={view} />}</QueryView>
      </Panel>
      <Panel title="Invoices">
        <QueryView query={query}>
          {({ invoices }) => (
            <InvoiceTable
              caption="Invoices, newest first"
              invoices={invoices}
              pdfPath={operatorInvoicePath}
              empty="No invoices."
            />
          )}
        </QueryView>
      </Panel>
    </>
  )
}

function AutoTopUp({ view: { card, settings, spent_this_month_usd: spent } }: { view: AutoTopUpView }) {
  if (!card && !settings) return <p className="text-muted">No saved card.</p>
  return (
    <Facts
      rows={{
        'Saved card': card ? `${cardName(card)}, expires ${card.exp_month}/${card.exp_year}` : 'none',
        State: settings ? stateOf(settings) : 'Not set up',
        Below: settings && <Money usd={settings.threshold_usd} />,
        Amount: settings && <Money usd={settings.amount_usd} />,
        'Maximum per month': settings && <Money usd={settings.monthly_maximum_usd} />,
        'This month (UTC)': <Money usd={spent} />,
      }}
    />
  )
}

function stateOf({
  enabled,
  paused,
  monthly_maximum_reached: isAtMaximum,
}: NonNullable<AutoTopUpView['settings']>): string {
  if (!enabled) return 'Off'
  if (paused) return `Paused since ${formatMoment(paused.at)}: ${paused.detail ?? paused.reason}`
  return isAtMaximum ? 'Maximum of the month reached' : 'On'
}
