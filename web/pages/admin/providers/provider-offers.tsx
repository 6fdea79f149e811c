import { PlugZap } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { CatalogEditsView } from '../../../../src/core/api/catalog.ts'
import type { OfferView } from '../../../../src/core/api/offers.ts'
import { EmptyState } from '../../../components/feedback/messages.tsx'
import { Button } from '../../../components/form/button.tsx'
import { TextField } from '../../../components/form/fields.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { type RowSelection, useSelection } from '../../../components/table/selection.tsx'
import { formatCount, plural } from '../../../lib/format.ts'
import { findOffers, offersByHealth } from '../../../lib/live-stats.ts'
import { offerChange, withOfferChange } from '../../../lib/operators/catalog-edits.ts'
import { ApplyEditsDialog, type ProposedEdits } from '../catalog/apply-edits-dialog.tsx'
import { OperatorButton } from '../operator-button.tsx'
import { OfferTable } from './provider-tables.tsx'

const GROUPS = [
  { name: 'amiss', title: 'Unhealthy', isOpen: true },
  { name: 'healthy', title: 'Healthy', isOpen: true },
  { name: 'unused', title: 'Disabled or unusable', isOpen: false },
] as const

/** The offers of a provider by their health, those that our calls cannot use folded; several are switched at once. */
export function ProviderOffers(props: { offers: readonly OfferView[]; edits: CatalogEditsView | null }) {
  const { offers, edits } = props
  const [search, setSearch] = useState('')
  const [proposed, setProposed] = useState<ProposedEdits | null>(null)
  const { selection, chosen: rows, clear } = useSelection(offers, ({ id, model }) => `${id} for ${model}`)
  const content = edits?.content ?? {}
  const isOff = (offer: OfferView) => offerChange(content, offer)?.disabled === true
  const found = findOffers(offers, search)
  const groups = offersByHealth(found)
  // An offer of several models is chosen once.
  const chosen = [...new Map(rows.map((offer) => [offer.id, offer])).values()]
  const bulkButton = (disable: boolean): ReactNode => {
    const some = chosen.filter((offer) => isOff(offer) !== disable)
    const count = plural(some.length, 'offer')
    const verb = disable ? 'Disable' : 'Enable'
    const propose = () =>
      setProposed({
        content: some.reduce(
          (changed, offer) => withOfferChange(changed, offer, { disabled: disable ? true : undefined }),
          content,
        ),
        title: `${verb} ${count}?`,
        confirm: `${verb} ${count}`,
        done: `${count} ${verb.toLowerCase()}d.`,
        what: (
          <p>
            {some.length === 1 ? 'It receives' : 'They receive'} {disable ? 'no new calls' : 'calls again'}{' '}
            within a second, for every model that has {some.length === 1 ? 'this offer' : 'these offers'}.
          </p>
        ),
      })
    return (
      some.length > 0 && (
        <OperatorButton needs="catalog.write" size="small" onClick={propose}>
          {verb} {count}
        </OperatorButton>
      )
    )
  }
  return (
    <Panel
      title="Offers"
      actions={
        <span className="row gap-2">
          {bulkButton(true)}
          {bulkButton(false)}
        </span>
      }
    >
      <div className="panel-body">
        <TextField
          label="Search offers"
          type="search"
          value={search}
          onChange={setSearch}
          placeholder="a model or the provider’s name for it"
        />
      </div>
      {found.length === 0 ? (
        <EmptyState icon={PlugZap}>
          {offers.length === 0
            ? 'No model has an offer of this provider. Add one under Overrides.'
            : 'No offers found.'}
        </EmptyState>
      ) : (
        GROUPS.map(({ name, title, isOpen }) => (
          <OfferGroup
            // What was searched for is shown, wherever it is.
            key={`${name} ${search !== ''}`}
            title={title}
            offers={groups[name]}
            isOpen={isOpen || search !== ''}
            selection={selection}
          />
        ))
      )}
      {proposed && (
        <ApplyEditsDialog
          proposed={proposed}
          from={edits}
          onApplied={clear}
          onClose={() => setProposed(null)}
        />
      )}
    </Panel>
  )
}

const SHOWN = 50

/** Offers of one state under their number; the table is made once they are unfolded. */
function OfferGroup(props: {
  title: string
  offers: readonly OfferView[]
  isOpen: boolean
  selection: RowSelection<OfferView>
}) {
  const { title, offers, selection } = props
  const [isOpen, setIsOpen] = useState(props.isOpen)
  const [shown, setShown] = useState(SHOWN)
  if (offers.length === 0) return null
  return (
    <details
      className="disclosure px-inset py-2"
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary>
        {title}, {plural(offers.length, 'offer')}
      </summary>
      {isOpen && (
        <div className="-mx-inset">
          <OfferTable offers={offers.slice(0, shown)} titledBy="model" selection={selection} />
          {offers.length > shown && (
            <div className="flex justify-center border-t border-line p-3">
              <Button size="small" onClick={() => setShown(shown + SHOWN)}>
                Show more of {plural(offers.length, 'offer')} ({formatCount(offers.length - shown)} left)
              </Button>
            </div>
          )}
        </div>
      )}
    </details>
  )
}
