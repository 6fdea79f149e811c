import { useState } from 'react'
import type { OfferView } from '../../../../src/core/api/offers.ts'
import { Form } from '../../../components/form.tsx'
import { Note } from '../../../components/note.tsx'
import { TextField } from '../../../components/text-field.tsx'
import { rateNumber } from '../../../lib/amounts.ts'
import { type CatalogContent, modelChange, rateProblem, withModelChange } from '../../../lib/catalog-edits.ts'
import type { ProposedEdits } from '../catalog/apply-edits-dialog.tsx'

/** What clients pay for a model, set by hand or made of its list price again. */
export function RateForm(props: {
  id: string
  offers: readonly OfferView[]
  content: CatalogContent
  onPropose: (edits: ProposedEdits) => void
}) {
  const { id, offers, content, onPropose } = props
  const rate = offers[0]?.rate ?? { prompt: '', completion: '' }
  const [prompt, setPrompt] = useState(rate.prompt)
  const [completion, setCompletion] = useState(rate.completion)
  const [isChecked, setIsChecked] = useState(false)
  const isSetByHand = modelChange(content, id)?.rate !== undefined
  const problems = { prompt: rateProblem(prompt), completion: rateProblem(completion) }
  const losing = offers.filter(
    ({ withheld, cost }) =>
      (withheld === null || withheld === 'loss') &&
      (rateNumber(cost.prompt) > rateNumber(prompt) || rateNumber(cost.completion) > rateNumber(completion)),
  )
  const submit = () => {
    setIsChecked(true)
    if (problems.prompt !== null || problems.completion !== null) return
    const set = { prompt: prompt.trim(), completion: completion.trim() }
    onPropose({
      content: withModelChange(content, id, { rate: set }),
      title: 'Change this rate?',
      what: (
        <p>
          New calls to <strong>{id}</strong> cost {set.prompt} USD per million tokens in and {set.completion}{' '}
          out, instead of {rate.prompt} and {rate.completion}. Calls that were admitted before keep their
          price.
        </p>
      ),
    })
  }
  const undo = () =>
    onPropose({
      content: withModelChange(content, id, { rate: undefined }),
      title: 'Take the rate from the list price again?',
      what: (
        <p>
          New calls to <strong>{id}</strong> cost the maker’s list price less our discount again.
        </p>
      ),
    })
  return (
    <Form error={null} onSubmit={submit}>
      <p className="muted">
        USD per million tokens, as clients pay it. Now {rate.prompt} in and {rate.completion} out,{' '}
        {isSetByHand ? 'set by hand' : 'the list price less the discount'}.
      </p>
      <div className="grid-2-tight">
        <TextField
          label="Tokens in"
          value={prompt}
          onChange={setPrompt}
          inputMode="decimal"
          error={isChecked ? problems.prompt : null}
          required
        />
        <TextField
          label="Tokens out"
          value={completion}
          onChange={setCompletion}
          inputMode="decimal"
          error={isChecked ? problems.completion : null}
          required
        />
      </div>
      {losing.length > 0 && (
        <Note tone="warn">
          At this rate we would lose at {losing.map(({ provider }) => provider).join(', ')}, where tokens cost
          us more. Calls are kept from offers that would cost more than they bring in.
        </Note>
      )}
      <div className="button-row">
        <button type="submit" className="button button-primary">
          Change the rate …
        </button>
        {isSetByHand && (
          <button type="button" className="button" onClick={undo}>
            Back to the list price …
          </button>
        )}
      </div>
    </Form>
  )
}
