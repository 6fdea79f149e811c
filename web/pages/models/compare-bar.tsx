import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { Button } from '../../components/form/button.tsx'
import { type CatalogModel, findModel } from '../../lib/models/model-catalog.ts'

/** The models chosen for a comparison, at the foot of the window; nothing while none is. */
export function CompareBar(props: {
  ids: string[]
  models: readonly CatalogModel[]
  onChange: (ids: string[]) => void
}) {
  const { ids, onChange } = props
  if (ids.length === 0) return null
  return (
    <section className="panel sticky bottom-3 z-10 shadow-lg" aria-label="Comparison">
      <div className="row px-inset py-3">
        <ModelChips {...props} />
        {ids.length > 1 ? (
          <Link
            to="/models/compare"
            search={{ models: ids.join(',') }}
            className="button button-primary button-small"
          >
            Compare {ids.length} models
          </Link>
        ) : (
          <span className="text-sm text-muted">Select up to three more models to compare.</span>
        )}
        <Button size="small" kind="quiet" onClick={() => onChange([])}>
          Clear
        </Button>
      </div>
    </section>
  )
}

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
