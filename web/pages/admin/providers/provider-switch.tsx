import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { catalogQuery } from '../../../api/operator-queries.ts'
import { QueryView } from '../../../components/feedback/messages.tsx'
import { Panel } from '../../../components/layout/page.tsx'
import { providerChange, withProviderChange } from '../../../lib/operators/catalog-edits.ts'
import { ApplyEditsDialog, type ProposedEdits } from '../catalog/apply-edits-dialog.tsx'
import { OperatorButton } from '../operator-button.tsx'

/** Takes all offers of a provider out of use, or back into it, as an edit of the catalog. */
export function ProviderSwitch({ id, name }: { id: string; name: string }) {
  const [proposed, setProposed] = useState<ProposedEdits | null>(null)
  return (
    <QueryView query={useQuery(catalogQuery)}>
      {({ edits }) => {
        const content = edits?.content ?? {}
        const isDisabled = providerChange(content, id)?.disabled === true
        const propose = () =>
          setProposed({
            content: withProviderChange(content, id, { disabled: isDisabled ? undefined : true }),
            title: isDisabled ? `Enable ${name}?` : `Disable ${name}?`,
            what: (
              <p>
                {isDisabled
                  ? `${name} receives calls again within a second.`
                  : `${name} receives no new calls within a second, also not with customers’ own provider keys. Running calls complete.`}
              </p>
            ),
          })
        return (
          <Panel title="Use" padded>
            <div className="spread">
              <p>
                {isDisabled
                  ? 'Disabled by the current overrides: it receives no calls.'
                  : 'Enabled: its offers receive calls while they are healthy.'}
              </p>
              <OperatorButton needs="catalog.write" onClick={propose}>
                {isDisabled ? 'Enable provider' : 'Disable provider'}
              </OperatorButton>
            </div>
            {proposed && (
              <ApplyEditsDialog proposed={proposed} from={edits} onClose={() => setProposed(null)} />
            )}
          </Panel>
        )
      }}
    </QueryView>
  )
}
