import type { OfferView, PriceView } from '../../../../src/core/api/offers.ts'
import { Note } from '../../../components/feedback/messages.tsx'
import { type FieldSpec, Form, useForm } from '../../../components/form/form.tsx'
import { rateNumber } from '../../../lib/format.ts'
import { unitName } from '../../../lib/models/unit-prices.ts'
import {
  type CatalogContent,
  modelChange,
  rateProblem,
  withModelChange,
} from '../../../lib/operators/catalog-edits.ts'
import { OperatorButton } from '../operator-button.tsx'
import type { ProposedEdits } from './apply-edits-dialog.tsx'

/** The rate that clients pay for a model: set by hand, or derived from its list price. */
export function RateForm(props: {
  id: string
  offers: readonly OfferView[]
  content: CatalogContent
  onPropose: (edits: ProposedEdits) => void
}) {
  const { id, offers, content, onPropose } = props
  const rate: PriceView = offers[0]?.rate ?? { prompt: '', completion: '' }
  const unit = offers[0]?.unit ?? null
  const isSetByHand = modelChange(content, id)?.rate !== undefined
  const usable = offers.filter(({ withheld }) => withheld === null || withheld === 'loss')
  const losingAt = (values: Record<'prompt' | 'completion' | 'units', string>) =>
    usable.filter(
      ({ cost }) =>
        rateNumber(cost.prompt) > rateNumber(values.prompt) ||
        rateNumber(cost.completion) > rateNumber(values.completion) ||
        rateNumber(cost.units ?? '0') > rateNumber(values.units),
    )
  const form = useForm({
    fields: {
      prompt: rateField('Input (USD per million tokens)', rate.prompt),
      completion: rateField('Output (USD per million tokens)', rate.completion),
      ...(unit !== null && {
        units: rateField(`USD per million ${unitName(unit)}`, rate.units ?? ''),
      }),
    } as Record<'prompt' | 'completion' | 'units', FieldSpec>,
    send: async (set) => {
      onPropose({
        content: withModelChange(content, id, { rate: set }),
        title: 'Change the price?',
        confirm: 'Change price',
        what: (
          <p>
            New calls to <strong>{id}</strong> cost {rateText({ ...rate, ...set }, unit)}, instead of{' '}
            {rateText(rate, unit)}. Calls received before keep their price.
          </p>
        ),
      })
    },
  })
  const undo = () =>
    onPropose({
      content: withModelChange(content, id, { rate: undefined }),
      title: 'Reset to list price?',
      confirm: 'Reset price',
      what: (
        <p>
          New calls to <strong>{id}</strong> cost the developer’s list price minus the discount.
        </p>
      ),
    })
  return (
    <Form form={form}>
      <p className="text-muted">
        What customers pay, in USD per million tokens. Currently {rateText(rate, unit)},{' '}
        {isSetByHand ? 'set manually' : 'the list price minus the discount'}.
      </p>
      <div className="columns gap-4 [--column:12rem]">
        {form.input('prompt')}
        {form.input('completion')}
        {unit !== null && form.input('units')}
      </div>
      <RateWarning values={form.values} losing={losingAt(form.values)} usable={usable} />
      <div className="row">
        <OperatorButton needs="catalog.write" kind="primary">
          Change price …
        </OperatorButton>
        {isSetByHand && (
          <OperatorButton needs="catalog.write" onClick={undo}>
            Reset to list price …
          </OperatorButton>
        )}
      </div>
    </Form>
  )
}

/** What a price means for the model: offers that become unprofitable, and nothing paid at all. */
function RateWarning(props: {
  values: Record<'prompt' | 'completion', string>
  losing: readonly OfferView[]
  usable: readonly OfferView[]
}) {
  const { values, losing, usable } = props
  const isFree = rateNumber(values.prompt) === 0 && rateNumber(values.completion) === 0
  if (losing.length === 0 && !isFree) return null
  return (
    <Note tone={losing.length > 0 && losing.length === usable.length ? 'bad' : 'warn'}>
      {isFree && <p>Tokens are free for customers at this price.</p>}
      {losing.length > 0 && (
        <p>
          Unprofitable at this price: {losing.map(({ provider }) => provider).join(', ')}. Unprofitable offers
          receive no calls.
        </p>
      )}
      {losing.length > 0 && losing.length === usable.length && (
        <p>
          <strong>This takes the model offline:</strong> calls to it fail with 503.
        </p>
      )}
    </Note>
  )
}

const rateField = (label: string, initial: string): FieldSpec => ({
  label,
  initial,
  inputMode: 'decimal',
  required: true,
  check: rateProblem,
})

const rateText = ({ prompt, completion, units }: PriceView, unit: string | null): string =>
  `$${prompt} input and $${completion} output${unit === null ? '' : `, and $${units} per million ${unitName(unit)}`}`
