import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bookmark, Plus } from 'lucide-react'
import { presetsQuery, sessionQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { useNewDialog } from '../components/form/use-new-dialog.ts'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { formatCount, formatMoment } from '../lib/format.ts'
import { comparedIds } from '../lib/models/model-filters.ts'
import { PresetDialog } from './presets/preset-dialog.tsx'

/** The presets of the account: settings of calls under a name. */
export function PresetsPage() {
  const query = useQuery(presetsQuery)
  const permissions = useQuery(sessionQuery).data?.permissions ?? []
  const { given, isOpen, open, close } = useNewDialog()
  const mayAdd = permissions.includes('integrations')
  const add = mayAdd && (
    <Button icon={Plus} kind="primary" onClick={open}>
      New preset
    </Button>
  )
  return (
    <>
      <PageHead
        title="Presets"
        docs="presets"
        description="Models, routing, limits and a system text under a name. Calls name the preset as their model, so you can change the settings without a release of your app."
        actions={add}
      />
      {isOpen && mayAdd && <PresetDialog models={given === '1' ? [] : comparedIds(given)} onClose={close} />}
      <QueryView query={query}>
        {({ data }) => (
          <Panel title="Your presets">
            {data.length === 0 ? (
              <EmptyState icon={Bookmark} action={add}>
                No presets yet. Create one here, or save the settings of the playground.
              </EmptyState>
            ) : (
              <DataTable
                caption="Presets"
                rows={data}
                rowKey={({ name }) => name}
                numeric={['Version']}
                columns={{
                  Name: ({ name }) => (
                    <Link to="/presets/$name" params={{ name }}>
                      {name}
                    </Link>
                  ),
                  Models: ({ settings: { model, models } }) => (
                    <code className="wrap-anywhere">
                      {[...(model ? [model] : []), ...(models ?? [])].join(', ') || 'auto'}
                    </code>
                  ),
                  'System text': ({ settings: { system } }) =>
                    system ? `${formatCount(system.length)} characters` : '–',
                  Version: ({ version }) => version,
                  Saved: ({ created_at: at }) => formatMoment(at),
                }}
              />
            )}
          </Panel>
        )}
      </QueryView>
    </>
  )
}
