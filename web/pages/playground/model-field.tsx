import { useId } from 'react'
import type { PricingFeedEntry } from '../../../src/core/catalog/pricing-feed-view.ts'

/** The model by its id, with the catalog's as suggestions. Free text, since ids take suffixes such as `:floor`. */
export function ModelField(props: {
  value: string
  onChange: (value: string) => void
  models: readonly PricingFeedEntry[]
  error: string | null
}) {
  const { value, onChange, models, error } = props
  const id = useId()
  const known = models.find((model) => model.id === value.trim())
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        Model
      </label>
      <input
        id={id}
        className="input"
        list={`${id}-list`}
        value={value}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={error ? true : undefined}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={`${id}-list`}>
        <option value="auto">picks a model by the difficulty of the prompt</option>
        {models
          .filter(({ status }) => status === 'available')
          .map((model) => (
            <option key={model.id} value={model.id}>
              {model.name}
            </option>
          ))}
      </datalist>
      <span id={`${id}-hint`} className={error ? 'field-error' : 'field-hint'}>
        {error ??
          (known
            ? `$${known.prompt} in, $${known.completion} out, per million tokens`
            : 'An id of the catalog, or auto: the difficulty of the prompt decides.')}
      </span>
    </div>
  )
}
