import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bookmark, Plus } from 'lucide-react'
import { presetsQuery, sessionQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { formatCount, formatMoment } from '../lib/format.ts'
import { PresetDialog } from './presets/preset-dialog.tsx'

/** The presets of the account: settings of calls under a name. */
export function PresetsPage() {
  const query = useQuery(presetsQuery)
  const permissions = useQuery(sessionQuery).data?.permissions ?? []
  const add = permissions.includes('integrations') && (
    <Button icon={Plus} kind="primary" dialog={(close) => <PresetDialog onClose={close} />}>
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
