import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Pencil, Trash2 } from 'lucide-react'
import type { PresetDetail } from '../../src/core/api/presets.ts'
import { keysQuery, presetQuery, sessionQuery } from '../api/queries.ts'
import { path, requestJson } from '../api/request.ts'
import { ConfirmDialog, DialogBox } from '../components/feedback/dialogs.tsx'
import { QueryView } from '../components/feedback/messages.tsx'
import { ActionButton } from '../components/form/action-button.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { DataTable } from '../components/table/data-table.tsx'
import { CodeBlock } from '../components/text/copy.tsx'
import { DiffView } from '../components/text/diff-view.tsx'
import { Snippets } from '../components/text/snippets.tsx'
import { formatMoment } from '../lib/format.ts'
import { presetText } from '../lib/presets.ts'
import { PresetDialog } from './presets/preset-dialog.tsx'

const STALE = ['/console/api/presets']

/** One preset: its settings, how calls use it, and its versions. */
export function PresetPage() {
  const { name } = useParams({ from: '/account/presets/$name' })
  const query = useQuery(presetQuery(name))
  const permissions = useQuery(sessionQuery).data?.permissions ?? []
  const mayChange = permissions.includes('integrations')
  const key = useQuery(keysQuery).data?.data.find(({ state }) => state === 'active')
  return (
    <>
      <PageHead
        back={<Link to="/presets">← Presets</Link>}
        title={name}
        description={
          query.data && `Version ${query.data.version}, saved ${formatMoment(query.data.created_at)}.`
        }
        actions={mayChange && query.data && <Actions preset={query.data} />}
      />
      <QueryView query={query}>
        {(preset) => (
          <>
            <div className="columns">
              <Panel title="Settings" padded>
                <Settings settings={preset.settings} />
              </Panel>
              <Panel title="Use this preset" padded>
                <Snippets apiKey={key?.hint ?? 'YOUR_API_KEY'} model={preset.model} />
              </Panel>
            </div>
            <Versions preset={preset} mayChange={mayChange} />
          </>
        )}
      </QueryView>
    </>
  )
}

/** The text apart from the JSON, so that each can be copied as it is. */
const Settings = ({ settings: { system, ...fields } }: Pick<PresetDetail, 'settings'>) => (
  <>
    <CodeBlock code={JSON.stringify(fields, null, 2)} of="the settings" />
    {system && <CodeBlock code={system} of="the system prompt" />}
  </>
)

function Actions({ preset }: { preset: PresetDetail }) {
  const { name } = preset
  const navigate = useNavigate()
  return (
    <>
      <Button icon={Pencil} dialog={(close) => <PresetDialog preset={preset} onClose={close} />}>
        Edit
      </Button>
      <Button
        icon={Trash2}
        dialog={(close) => (
          <ConfirmDialog
            title={`Delete “${name}”?`}
            confirm="Delete preset"
            send={() => requestJson('DELETE', path`/console/api/presets/${name}`)}
            done={`Preset ${name} deleted.`}
            onDone={() => void navigate({ to: '/presets' })}
            stale={STALE}
            onClose={close}
          >
            <p>
              Calls to <code>{preset.model}</code> and to each of its versions fail from then on.
            </p>
          </ConfirmDialog>
        )}
      >
        Delete
      </Button>
    </>
  )
}

const Versions = ({ preset, mayChange }: { preset: PresetDetail; mayChange: boolean }) => (
  <Panel title="Versions">
    <DataTable
      caption={`Versions of ${preset.name}`}
      rows={preset.versions}
      rowKey={({ version }) => String(version)}
      columns={{
        Version: ({ version }) => version,
        Saved: ({ created_at: at }) => formatMoment(at),
        'Named in calls as': ({ version }) => (
          <code className="wrap-anywhere">
            {preset.model}@{version}
          </code>
        ),
        Actions: ({ version }) =>
          version !== preset.version && (
            <span className="row justify-end gap-2">
              <Button
                size="small"
                about={`Compare version ${version} with the latest`}
                dialog={(close) => <CompareDialog preset={preset} version={version} onClose={close} />}
              >
                Compare
              </Button>
              {mayChange && (
                <ActionButton
                  size="small"
                  about={`Restore version ${version}`}
                  action={{
                    send: () =>
                      requestJson('POST', '/console/api/presets', { name: preset.name, restore: version }),
                    stale: STALE,
                    done: `Version ${version} restored as version ${preset.version + 1}.`,
                  }}
                >
                  Restore
                </ActionButton>
              )}
            </span>
          ),
      }}
    />
  </Panel>
)

function CompareDialog(props: { preset: PresetDetail; version: number; onClose: () => void }) {
  const { preset, version, onClose } = props
  const query = useQuery(presetQuery(preset.name, version))
  return (
    <DialogBox
      title={`Version ${version} and ${preset.version}`}
      onClose={onClose}
      className="w-[min(100%,46rem)]"
    >
      <QueryView query={query}>
        {(earlier) => (
          <DiffView
            before={presetText(earlier.settings)}
            after={presetText(preset.settings)}
            of={`What changed from version ${version} to ${preset.version}`}
          />
        )}
      </QueryView>
    </DialogBox>
  )
}
