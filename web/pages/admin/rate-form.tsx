import type { OfferView, PriceView } from '../../../src/core/api/offers.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { Form, useForm } from '../../components/form/form.tsx'
import { type CatalogContent, modelChange, rateProblem, withModelChange } from '../../lib/catalog-edits.ts'
import { rateNumber } from '../../lib/format.ts'
import { unitName } from '../../lib/unit-prices.ts'
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
  const form = useForm({
    initial: { prompt: rate.prompt, completion: rate.completion, units: rate.units ?? '' },
    check: (values) => ({
      prompt: rateProblem(values.prompt),
      completion: rateProblem(values.completion),
      units: unit === null ? null : rateProblem(values.units),
    }),
    send: async (values) => {
      const set = {
        prompt: values.prompt.trim(),
        completion: values.completion.trim(),
        ...(unit !== null && { units: values.units.trim() }),
      }
      onPropose({
        content: withModelChange(content, id, { rate: set }),
        title: 'Change this rate?',
        what: (
          <p>
            New calls to <strong>{id}</strong> cost {set.prompt} USD per million tokens in and{' '}
            {set.completion} out{unit !== null && `, and ${set.units} per million ${unitName(unit)}`}, instead
            of {rateText(rate, unit)}. Calls admitted before keep their price.
          </p>
        ),
      })
    },
  })
  const { prompt, completion, units } = form.values
  const losing = offers.filter(
    ({ withheld, cost }) =>
      (withheld === null || withheld === 'loss') &&
      (rateNumber(cost.prompt) > rateNumber(prompt) ||
        rateNumber(cost.completion) > rateNumber(completion) ||
        rateNumber(cost.units ?? '0') > rateNumber(units)),
  )
  const undo = () =>
    onPropose({
      content: withModelChange(content, id, { rate: undefined }),
      title: 'Return to the list price?',
      what: (
        <p>
          New calls to <strong>{id}</strong> cost the maker’s list price less our discount again.
        </p>
      ),
    })
  return (
    <Form form={form}>
      <p className="text-muted">
        USD per million tokens, as clients pay it. Now {rateText(rate, unit)},{' '}
        {isSetByHand ? 'set by hand' : 'the list price less the discount'}.
      </p>
      <div className="columns gap-4 [--column:12rem]">
        <TextField label="Tokens in" {...form.field('prompt')} inputMode="decimal" required />
        <TextField label="Tokens out" {...form.field('completion')} inputMode="decimal" required />
        {unit !== null && (
          <TextField
            label={`A million ${unitName(unit)}`}
            {...form.field('units')}
            inputMode="decimal"
            required
          />
        )}
      </div>
      {losing.length > 0 && (
        <Note tone="warn">
          At this rate we would lose at {losing.map(({ provider }) => provider).join(', ')}, where tokens cost
          us more. Offers that cost more than they bring in receive no calls.
        </Note>
      )}
      <div className="row">
        <Button kind="primary">Change the rate …</Button>
        {isSetByHand && <Button onClick={undo}>Back to the list price …</Button>}
      </div>
    </Form>
  )
}

const rateText = ({ prompt, completion, units }: PriceView, unit: string | null): string =>
  `${prompt} in and ${completion} out${unit === null ? '' : `, and ${units} per million ${unitName(unit)}`}`
