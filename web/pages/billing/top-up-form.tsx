import { useState } from 'react'
import type { BillingView, NewTopUpBody, RailName, TopUpView } from '../../../src/core/api/billing.ts'
import { requestJson } from '../../api/request.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { showToast } from '../../components/feedback/toasts.tsx'
import { ChoiceField } from '../../components/form/choice-fields.tsx'
import { Form, Submit, useForm } from '../../components/form/form.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { isWholeCents } from '../../lib/checks.ts'
import { formatAmount } from '../../lib/format.ts'
import { railName } from './rail-name.ts'

const CUSTOM = 'custom'

/** Chooses an amount and a payment method, and leads on to the payment page. */
export function TopUpForm({ billing }: { billing: BillingView }) {
  const { presets_usd: presets, min_usd: min, max_usd: max, rails } = billing
  const [choice, setChoice] = useState(presets[1] ?? presets[0] ?? CUSTOM)
  const [rail, setRail] = useState<RailName>(rails[0] ?? 'card')
  const isCustom = choice === CUSTOM
  const amountOf = (values: { amount_usd: string }) => (isCustom ? values.amount_usd.trim() : choice)
  const problemOf = (amount: string) =>
    isWholeCents(amount) && Number(amount) >= Number(min) && Number(amount) <= Number(max)
      ? null
      : `Enter an amount from ${formatAmount(min)} to ${formatAmount(max)}, in whole cents.`
  const form = useForm({
    initial: { amount_usd: '' },
    check: (values) => ({ amount_usd: problemOf(amountOf(values)) }),
    send: (values) => {
      const body: NewTopUpBody = { amount_usd: amountOf(values), rail }
      return requestJson<TopUpView>('POST', '/console/api/top-ups', { body })
    },
    stale: [['billing'], ['top-ups'], ['ledger'], ['session']],
    onDone: (opened) => {
      if (opened.checkout_url) window.location.assign(opened.checkout_url)
      else showToast(`${formatAmount(opened.amount_usd)} are in your balance.`)
    },
  })
  const amount = amountOf(form.values)
  return (
    <Form form={isCustom ? form : { ...form, isFieldError: false }}>
      <ChoiceField
        label="Amount"
        value={choice}
        onChange={setChoice}
        options={[
          ...presets.map((usd) => ({ value: usd, name: formatAmount(usd).replace(/\.00$/, '') })),
          { value: CUSTOM, name: 'Other' },
        ]}
      />
      {isCustom && (
        <TextField
          label="Other amount, USD"
          {...form.field('amount_usd')}
          inputMode="decimal"
          placeholder="40.00"
          hint={`From ${formatAmount(min)} to ${formatAmount(max)}.`}
        />
      )}
      <ChoiceField
        label="Pay with"
        value={rail}
        onChange={(value) => setRail(value as RailName)}
        options={rails.map((name) => ({ value: name, name: railName(name) }))}
      />
      {rail === 'development' && (
        <Note tone="warn">
          This is a test gateway: no money moves, and the amount is in your balance at once.
        </Note>
      )}
      <div>
        <Submit form={form} kind="primary" large pending="Opening …">
          {problemOf(amount) === null ? `Top up ${formatAmount(amount)}` : 'Top up'}
        </Submit>
      </div>
    </Form>
  )
}
