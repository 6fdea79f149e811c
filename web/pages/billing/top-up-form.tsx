import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { BillingView, NewTopUpBody, RailName, TopUpView } from '../../../src/core/api/billing.ts'
import { requestJson } from '../../api/request.ts'
import { ChoiceField } from '../../components/choice-field.tsx'
import { Form } from '../../components/form.tsx'
import { fieldError } from '../../components/form-error.tsx'
import { Note } from '../../components/note.tsx'
import { TextField } from '../../components/text-field.tsx'
import { showToast } from '../../components/toasts.tsx'
import { formatAmount, isWholeCents } from '../../lib/amounts.ts'
import { railName } from './rail-name.ts'

const CUSTOM = 'custom'

/** Chooses an amount and a way to pay, and goes on to the page where that is done. */
export function TopUpForm({ billing }: { billing: BillingView }) {
  const { presets_usd: presets, min_usd: min, max_usd: max, rails } = billing
  const [choice, setChoice] = useState(presets[1] ?? presets[0] ?? CUSTOM)
  const [custom, setCustom] = useState('')
  const [rail, setRail] = useState<RailName>(rails[0] ?? 'card')
  const [isChecked, setIsChecked] = useState(false)
  const client = useQueryClient()
  const topUp = useMutation({
    mutationFn: (body: NewTopUpBody) => requestJson<TopUpView>('POST', '/console/api/top-ups', { body }),
    onSuccess: (opened) => {
      for (const key of ['billing', 'top-ups', 'ledger', 'session'])
        void client.invalidateQueries({ queryKey: [key] })
      if (opened.checkout_url) window.location.assign(opened.checkout_url)
      else showToast(`${formatAmount(opened.amount_usd)} are in your balance.`)
    },
  })
  const amount = choice === CUSTOM ? custom.trim() : choice
  const problem =
    isWholeCents(amount) && Number(amount) >= Number(min) && Number(amount) <= Number(max)
      ? null
      : `Enter an amount from ${formatAmount(min)} to ${formatAmount(max)}, in whole cents.`
  const submit = () => {
    setIsChecked(true)
    if (problem === null) topUp.mutate({ amount_usd: amount, rail })
  }
  return (
    <Form error={topUp.error} fields={choice === CUSTOM ? ['amount_usd'] : []} onSubmit={submit}>
      <ChoiceField
        label="Amount"
        value={choice}
        onChange={setChoice}
        options={[
          ...presets.map((usd) => ({ value: usd, name: formatAmount(usd).replace(/\.00$/, '') })),
          { value: CUSTOM, name: 'Other' },
        ]}
      />
      {choice === CUSTOM && (
        <TextField
          label="Other amount, USD"
          value={custom}
          onChange={setCustom}
          inputMode="decimal"
          placeholder="40.00"
          hint={`From ${formatAmount(min)} to ${formatAmount(max)}.`}
          error={(isChecked && problem) || fieldError(topUp.error, 'amount_usd')}
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
          This is a gateway for trying out: no money moves, the amount is in your balance at once.
        </Note>
      )}
      <div>
        <button type="submit" className="button button-primary button-large" disabled={topUp.isPending}>
          {topUp.isPending ? 'Opening …' : problem === null ? `Top up ${formatAmount(amount)}` : 'Top up'}
        </button>
      </div>
    </Form>
  )
}
