import { X } from 'lucide-react'
import { type CatalogModel, findModel } from '../../lib/models/model-catalog.ts'

/** Chosen models, each with a button that removes it. */
export function ModelChips(props: {
  ids: string[]
  models: readonly CatalogModel[]
  onChange: (ids: string[]) => void
}) {
  const { ids, models, onChange } = props
  return ids.map((id) => (
    <button
      key={id}
      type="button"
      className="button button-small"
      onClick={() => onChange(ids.filter((other) => other !== id))}
    >
      <span className="sr-only">Remove </span>
      {findModel(models, id)?.name ?? id}
      <X size={14} aria-hidden="true" />
    </button>
  ))
}
