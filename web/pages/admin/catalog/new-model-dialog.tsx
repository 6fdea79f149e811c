import { useQuery } from '@tanstack/react-query'
import { providersQuery } from '../../../api/operator-queries.ts'
import { FormDialog } from '../../../components/feedback/dialogs.tsx'
import { TextField } from '../../../components/form/fields.tsx'
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
      initial={{
        ...{ id: '', name: '', context_length: '', max_output_tokens: '', prompt: '', completion: '' },
        ...{ provider: '', upstream_model: '', cost_prompt: '', cost_completion: '', parameters: 'tools' },
      }}
      check={(values) => ({
        id: required(values.id, 'Enter an ID such as vendor/model.'),
        context_length:
          required(values.context_length, 'Enter a number of tokens.') ??
          wholeNumberProblem(values.context_length),
        max_output_tokens: wholeNumberProblem(values.max_output_tokens),
        prompt: rateProblem(values.prompt),
        completion: rateProblem(values.completion),
        provider: required(values.provider, 'Choose a provider.'),
        upstream_model: required(values.upstream_model, 'Enter the name that the provider knows.'),
        cost_prompt: costProblem(values.cost_prompt, values.cost_completion),
        cost_completion: costProblem(values.cost_completion, values.cost_prompt),
      })}
      send={async (values) => {
        const model = modelOf(values)
        onPropose({
          content: withModel(content, model),
          title: 'Add this model?',
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
      {(field) => (
        <>
          <div className="columns gap-4 [--column:12rem]">
            <TextField label="Model ID" {...field('id')} placeholder="vendor/model" required />
            <TextField label="Name" {...field('name')} placeholder="as the ID" />
            <TextField
              label="Context window (tokens)"
              {...field('context_length')}
              inputMode="numeric"
              required
            />
            <TextField label="Max output tokens" {...field('max_output_tokens')} inputMode="numeric" />
            <TextField
              label="Input list price (USD per million)"
              {...field('prompt')}
              inputMode="decimal"
              required
            />
            <TextField
              label="Output list price (USD per million)"
              {...field('completion')}
              inputMode="decimal"
              required
            />
          </div>
          <TextField
            label="Supported parameters"
            {...field('parameters')}
            hint="Separated by commas, for example tools, response_format, temperature."
          />
          <div className="columns gap-4 [--column:12rem]">
            <TextField
              label="Provider"
              {...field('provider')}
              suggestions={providers.map(({ id, name }) => ({ value: id, name }))}
              required
            />
            <TextField label="Model name at the provider" {...field('upstream_model')} required />
            <TextField label="Input cost (USD per million)" {...field('cost_prompt')} inputMode="decimal" />
            <TextField
              label="Output cost (USD per million)"
              {...field('cost_completion')}
              inputMode="decimal"
            />
          </div>
        </>
      )}
    </FormDialog>
  )
}

const required = (text: string, problem: string): string | null => (text.trim() === '' ? problem : null)

/** Costs are given together, or not at all: then they are assumed. */
const costProblem = (text: string, other: string): string | null =>
  text.trim() === '' && other.trim() === '' ? null : rateProblem(text)

/** The model as a catalog document has it. */
function modelOf(values: Record<string, string>) {
  const text = (name: string) => (values[name] ?? '').trim()
  const id = text('id')
  const parameters = text('parameters')
    .split(',')
    .map((name) => name.trim())
  return {
    id,
    vendor: id.includes('/') ? id.split('/')[0]! : 'openai',
    ...(text('name') !== '' && { name: text('name') }),
    context_length: Number(text('context_length')),
    ...(text('max_output_tokens') !== '' && { max_output_tokens: Number(text('max_output_tokens')) }),
    supported_parameters: parameters.filter((name) => name !== ''),
    list_price: { prompt: text('prompt'), completion: text('completion') },
    offers: [
      {
        provider: text('provider'),
        upstream_model: text('upstream_model'),
        ...(text('cost_prompt') !== '' && {
          cost: { prompt: text('cost_prompt'), completion: text('cost_completion') },
        }),
      },
    ],
  }
}
