import { useState } from 'react'
import type { OperatorAccountDetail, RefundTopUpRequest } from '../../../../src/core/api/accounts.ts'
import type { OperatorTopUp } from '../../../../src/core/api/billing.ts'
import { path, requestJson } from '../../../api/request.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { CheckField, TextField } from '../../../components/form/fields.tsx'
import { DataTable } from '../../../components/table/data-table.tsx'
import { Money } from '../../../components/text/money.tsx'
import { Badge } from '../../../components/text/values.tsx'
import { isWholeCents } from '../../../lib/checks.ts'
import { formatAmount, formatMoment } from '../../../lib/format.ts'
import { OperatorButton } from '../operator-button.tsx'

/** Payments received, refunds of them, and suspensions after reversed payments. */
export function AccountTopUps({ account }: { account: OperatorAccountDetail }) {
  const { top_ups: topUps, suspensions } = account
  const [refunded, setRefunded] = useState<OperatorTopUp | null>(null)
  return (
    <>
      <DataTable
        caption="Top-ups, newest first"
        rows={topUps}
        empty="No top-ups yet."
        columns={{
          Payment: ({ id }) => <code className="wrap-anywhere">{id}</code>,
          'Payment method': ({ rail }) => rail,
          State: ({ state }) => <Badge>{state}</Badge>,
          Requested: ({ amount_usd: usd }) => <Money usd={usd} />,
          Settled: ({ settled_usd: usd }) => <Money usd={usd} />,
          Returned: ({ returned_usd: usd }) => <Money usd={usd} />,
          Created: (topUp) => formatMoment(topUp.created_at),
          Actions: (topUp) =>
            centsLeft(topUp) > 0 && (
              <OperatorButton
                needs="billing.write"
                size="small"
                about={`top-up ${topUp.id}`}
                onClick={() => setRefunded(topUp)}
              >
                Refund
              </OperatorButton>
            ),
        }}
        numeric={['Requested', 'Settled', 'Returned']}
      />
      {suspensions.length > 0 && (
        <DataTable
          caption="Suspensions after reversed payments"
          rows={suspensions}
          columns={{
            'Suspended for': ({ reason }) => reason,
            When: ({ at }) => formatMoment(at),
            Payment: (row) => <code className="wrap-anywhere">{row.payment_id}</code>,
            'Short by': ({ shortfall_usd: usd }) => <Money usd={usd} />,
          }}
          numeric={['Short by']}
        />
      )}
      {refunded && <RefundDialog account={account} topUp={refunded} onClose={() => setRefunded(null)} />}
    </>
  )
}

/** What can still be refunded of a top-up, in whole cents. */
const centsLeft = ({ settled_usd, returned_usd, disputed_usd }: OperatorTopUp): number =>
  Math.round((Number(settled_usd) - Number(returned_usd) - Number(disputed_usd)) * 100)

interface RefundDialogProps {
  account: OperatorAccountDetail
  topUp: OperatorTopUp
  onClose: () => void
}

/** Refunds a top-up, whole or in part, with a reason for the audit log. */
function RefundDialog({ account, topUp, onClose }: RefundDialogProps) {
  const [isForced, setIsForced] = useState(false)
  const left = (centsLeft(topUp) / 100).toFixed(2)
  return (
    <FormDialog
      title="Refund this top-up?"
      submit="Refund"
      pending="Refunding …"
      kind="danger"
      initial={{ amount_usd: left, reason: '' }}
      check={({ amount_usd: amount, reason }) => ({
        amount_usd:
          isWholeCents(amount.trim()) && Number(amount) <= Number(left)
            ? null
            : `Enter an amount up to ${left}, in whole cents.`,
        reason: reason.trim() === '' ? 'Enter a reason for the audit log.' : null,
      })}
      send={({ amount_usd: amount, reason }) =>
        requestJson<OperatorTopUp>(
          'POST',
          path`/admin/api/accounts/${account.id}/top-ups/${topUp.id}/refund`,
          {
            amount_usd: amount.trim(),
            reason: reason.trim(),
            returned_usd: topUp.returned_usd,
            force: isForced,
          } satisfies RefundTopUpRequest,
        )
      }
      stale={['/admin/api']}
      done={({ returned_usd: usd }) => `${formatAmount(usd)} of this top-up is returned now.`}
      onClose={onClose}
    >
      {(field) => (
        <>
          <p>
            The money is taken from the balance of <strong>{account.name}</strong>, which is{' '}
            <Money usd={account.balance_usd} />, and goes back by {topUp.rail}. A refund cannot be undone.
          </p>
          <TextField
            label="Amount (USD)"
            {...field('amount_usd')}
            inputMode="decimal"
            hint={
              <>
                At most <Money usd={left} />
              </>
            }
            required
          />
          <TextField label="Reason" {...field('reason')} required />
          <CheckField
            label="Also refund what the balance does not have. The account owes it and is suspended."
            checked={isForced}
            onChange={setIsForced}
          />
        </>
      )}
    </FormDialog>
  )
}
