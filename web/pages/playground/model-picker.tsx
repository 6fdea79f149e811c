import { ChevronDown, Plus, X } from 'lucide-react'
import { memo, useCallback, useDeferredValue, useRef, useState } from 'react'
import { DialogBox } from '../../components/feedback/dialogs.tsx'
import { Button } from '../../components/form/button.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { PickList, PickRow } from '../../components/form/pick-list.tsx'
import { formatCount, plural } from '../../lib/format.ts'
import { filterModels } from '../../lib/models/filter-models.ts'
import { type CatalogModel, canonicalId } from '../../lib/models/model-catalog.ts'
import { unitPriceText } from '../../lib/models/unit-prices.ts'

const SHOWN_MAX = 20

/** One to `max` models, each with a picker. `add`: the button for a further one. */
export function ModelChoices(props: {
  chosen: readonly string[]
  max: number
  add: string
  models: readonly CatalogModel[]
  onChange: (chosen: string[]) => void
}) {
  const { chosen, max, add, models, onChange } = props
  const row = useRef<HTMLFieldSetElement>(null)
  return (
    <fieldset ref={row} tabIndex={-1} aria-label="Models" className="row min-w-0 gap-2">
      {chosen.map((model, index) => (
        <ModelPicker
          // biome-ignore lint/suspicious/noArrayIndexKey: models keep their order
          key={index}
          label={chosen.length > 1 ? `Model ${index + 1}` : 'Model'}
          model={model}
          models={models}
          onChange={(picked) => onChange(chosen.with(index, picked))}
          onRemove={
            chosen.length > 1
              ? () => {
                  row.current?.focus()
                  onChange(chosen.filter((_, at) => at !== index))
                }
              : undefined
          }
        />
      ))}
      {chosen.length < max && (
        <Button
          icon={Plus}
          kind="quiet"
          size="small"
          dialog={(close) => (
            <ModelDialog
              title={add}
              models={models}
              onClose={close}
              onPick={(picked) => onChange([...chosen, picked])}
            />
          )}
        >
          {add}
        </Button>
      )}
    </fieldset>
  )
}

/** A button with the name of a model, which opens a search for another. `onRemove`: it can also be taken away. */
function ModelPicker(props: {
  label: string
  model: string
  models: readonly CatalogModel[]
  onChange: (model: string) => void
  onRemove?: (() => void) | undefined
}) {
  const { label, model, models, onChange, onRemove } = props
  const name = models.find(({ id }) => id === model)?.name ?? model
  return (
    <span className="inline-flex max-w-full items-center [&>.button]:min-w-0">
      <Button
        dialog={(close) => <ModelDialog title={label} models={models} onClose={close} onPick={onChange} />}
      >
        <span className="sr-only">{label}:</span>
        <span className="truncate" title={model}>
          {name}
        </span>
        <ChevronDown size={16} aria-hidden="true" />
      </Button>
      {onRemove && <Button icon={X} size="small" about={`Remove ${name}`} onClick={onRemove} />}
    </span>
  )
}

/** Of a million tokens, or of what the model counts instead. */
const priceOf = ({ kind, unit, units, prompt, completion }: CatalogModel): string => {
  if (unit !== undefined && units !== undefined) return unitPriceText(unit, units)
  return kind === undefined ? `$${prompt} in, $${completion} out / M tokens` : `$${prompt} / M tokens`
}

/** Searches the models that are available. What was typed can be used as it is, since ids take suffixes such as `:floor`. */
function ModelDialog(props: {
  title: string
  models: readonly CatalogModel[]
  onPick: (model: string) => void
  onClose: () => void
}) {
  const { title, models, onPick, onClose } = props
  const [search, setSearch] = useState('')
  const pick = useCallback(
    (model: string) => {
      onPick(model)
      onClose()
    },
    [onPick, onClose],
  )
  const typed = search.trim()
  // The list follows the typing.
  const shown = useDeferredValue(typed)
  return (
    <DialogBox title={title} onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          // It may be opened by a field of another form.
          event.stopPropagation()
          const found = filterModels(models, { q: typed })
          // Also with a suffix, or as `openai/<id>`.
          const isKnown = typed === 'auto' || found.some(({ id }) => id === canonicalId(typed))
          const first = isKnown ? typed : (found[0]?.id ?? typed)
          if (first !== '') pick(first)
        }}
      >
        <TextField
          label="Search models"
          type="search"
          value={search}
          onChange={setSearch}
          placeholder="Name, developer or ID"
          autoFocus
        />
      </form>
      <Choices typed={shown} models={models} onPick={pick} />
    </DialogBox>
  )
}

interface ChoicesProps {
  typed: string
  models: readonly CatalogModel[]
  onPick: (model: string) => void
}

const Choices = memo(function Choices({ typed, models, onPick }: ChoicesProps) {
  const found = filterModels(models, { q: typed })
  return (
    <>
      <PickList>
        {typed === '' && models.some(({ kind }) => kind === undefined) && (
          <Choice id="auto" name="auto" note="Chosen by the difficulty of the prompt" onPick={onPick} />
        )}
        {found.slice(0, SHOWN_MAX).map((model) => (
          <Choice key={model.id} id={model.id} name={model.name} note={priceOf(model)} onPick={onPick} />
        ))}
        {typed !== '' && !found.some(({ id }) => id === typed) && (
          <Choice id={typed} name={`Use “${typed}”`} note="As typed" onPick={onPick} />
        )}
      </PickList>
      <p className="text-sm text-muted" role="status">
        {found.length > SHOWN_MAX
          ? `The first ${SHOWN_MAX} of ${formatCount(found.length)} models of this kind. Type to search.`
          : plural(found.length, 'model')}
      </p>
    </>
  )
})

function Choice(props: { id: string; name: string; note: string; onPick: (id: string) => void }) {
  const { id, name, note, onPick } = props
  return (
    <PickRow
      name={
        <span className="spread gap-y-0">
          <span className="font-medium wrap-anywhere">{name}</span>
          <span className="text-sm text-muted">{note}</span>
        </span>
      }
      second={name !== id && !name.startsWith('Use') && id}
      onPick={() => onPick(id)}
    />
  )
}
