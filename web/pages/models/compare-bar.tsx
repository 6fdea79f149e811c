import { Link } from '@tanstack/react-router'
import { Button } from '../../components/form/button.tsx'
import type { CatalogModel } from '../../lib/models/model-catalog.ts'
import { ModelChips } from './model-chips.tsx'

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
