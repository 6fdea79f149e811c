import { useQuery } from '@tanstack/react-query'
import { providersQuery } from '../../../api/operator-queries.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import type { FieldSpec } from '../../../components/form/form.tsx'
import { wholeNumberProblem } from '../../../lib/checks.ts'
import { type CatalogContent, rateProblem, withModel } from '../../../lib/operators/catalog-edits.ts'
import type { ProposedEdits } from './apply-edits-dialog.tsx'

/** Asks for a chat model and its first offer, and proposes to add it to the overrides. */
export function NewModelDialog(props: {
  content: CatalogContent
  onClose: () => void
  onPropose: (edits: ProposedEdits) => void
}) {
  const { content, onClose, onPropose } = props
  const providers = useQuery(providersQuery).data?.data ?? []
  return (
    <FormDialog
      title="Add a chat model"
      submit="Review changes …"
      pending="Checking …"
      fields={{
        id: { label: 'Model ID', placeholder: 'vendor/model', required: 'Enter an ID such as vendor/model.' },
        name: { label: 'Name', placeholder: 'as the ID' },
        context_length: {
          ...count('Context window (tokens)'),
          required: 'Enter a number of tokens.',
        },
        max_output_tokens: count('Max output tokens'),
        prompt: { ...rate('Input list price (USD per million)'), required: true },
        completion: { ...rate('Output list price (USD per million)'), required: true },
        parameters: {
          label: 'Supported parameters',
          initial: 'tools',
          hint: 'Separated by commas, for example tools, response_format, temperature.',
        },
        provider: {
          label: 'Provider',
          suggestions: providers.map(({ id, name }) => ({ value: id, name })),
          required: 'Choose a provider.',
        },
        upstream_model: {
          label: 'Model name at the provider',
          required: 'Enter the name that the provider knows.',
        },
        cost_prompt: cost('Input cost (USD per million)', 'cost_completion'),
        cost_completion: cost('Output cost (USD per million)', 'cost_prompt'),
      }}
      send={async (values) => {
        const model = modelOf(values)
        onPropose({
          content: withModel(content, model),
          title: 'Add this model?',
          confirm: 'Add model',
          what: (
            <p>
              <strong>{model.id}</strong> is added to the catalog, with one offer at {values.provider}. Its
              price is the list price minus the discount.
            </p>
          ),
        })
      }}
      onClose={onClose}
    >
      {({ input }) => (
        <>
          <div className="columns gap-4 [--column:12rem]">{LEADING.map((name) => input(name))}</div>
          {input('parameters')}
          <div className="columns gap-4 [--column:12rem]">{OFFER.map((name) => input(name))}</div>
        </>
      )}
    </FormDialog>
  )
}

const LEADING = ['id', 'name', 'context_length', 'max_output_tokens', 'prompt', 'completion'] as const
const OFFER = ['provider', 'upstream_model', 'cost_prompt', 'cost_completion'] as const

const count = (label: string): FieldSpec => ({
  label,
  inputMode: 'numeric',
  check: (text) => wholeNumberProblem(text),
})

const rate = (label: string): FieldSpec => ({ label, inputMode: 'decimal', check: rateProblem })

/** Costs are given together, or not at all: then they are assumed. */
const cost = (label: string, other: string): FieldSpec => ({
  ...rate(label),
  check: (text, values) => (text === '' && values[other] === '' ? null : rateProblem(text)),
})

/** The model as a catalog document has it. */
function modelOf(values: Record<(typeof LEADING | typeof OFFER)[number] | 'parameters', string>) {
  const { id, name, max_output_tokens: most, cost_prompt: prompt, cost_completion: completion } = values
  const parameters = values.parameters.split(',').map((parameter) => parameter.trim())
  return {
    id,
    vendor: id.includes('/') ? id.split('/')[0]! : 'openai',
    ...(name !== '' && { name }),
    context_length: Number(values.context_length),
    ...(most !== '' && { max_output_tokens: Number(most) }),
    supported_parameters: parameters.filter((parameter) => parameter !== ''),
    list_price: { prompt: values.prompt, completion: values.completion },
    offers: [
      {
        provider: values.provider,
        upstream_model: values.upstream_model,
        ...(prompt !== '' && { cost: { prompt, completion } }),
      },
    ],
  }
}
