import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { PresetList, PresetView } from '../../../src/core/api/presets.ts'
import { presetsQuery, sessionQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { DialogBox, FormDialog } from '../../components/feedback/dialogs.tsx'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { PickList, PickRow } from '../../components/form/pick-list.tsx'
import type { ChatSettings } from '../../lib/playground/chat-settings.ts'
import { chatSettingsOf, presetNameProblem, presetOfChat } from '../../lib/presets.ts'

interface PresetDialogProps {
  settings: ChatSettings
  onLoad: (settings: ChatSettings) => void
  onClose: () => void
}

/** Loads the settings of a preset into the playground, or saves those of the playground as one. */
export function PlaygroundPresets({ settings, onLoad, onClose }: PresetDialogProps) {
  const query = useQuery(presetsQuery)
  const mayChange = useQuery(sessionQuery).data?.permissions.includes('integrations') ?? false
  const [isSaving, setIsSaving] = useState(false)
  if (isSaving && query.data) return <SaveDialog settings={settings} presets={query.data} onClose={onClose} />
  return (
    <DialogBox title="Presets" onClose={onClose}>
      <QueryView query={query}>
        {({ data }) => (
          <>
            {data.length > 0 && (
              <PickList>
                {data.map(({ name, version, settings: kept }) => (
                  <PickRow
                    key={name}
                    name={<span className="truncate font-medium">{name}</span>}
                    second={`version ${version}`}
                    onPick={() => {
                      onLoad(chatSettingsOf(kept))
                      onClose()
                    }}
                  />
                ))}
              </PickList>
            )}
            <p className="text-muted">
              {data.length > 0 && 'Pick one to load its settings. '}
              Your app calls with a preset by its name. <Link to="/presets">All presets</Link>
            </p>
            {mayChange && (
              <div className="row justify-end">
                <Button kind="primary" onClick={() => setIsSaving(true)}>
                  Save these settings …
                </Button>
              </div>
            )}
          </>
        )}
      </QueryView>
    </DialogBox>
  )
}

/** Keeps what the playground does not show of the preset that it replaces. */
function SaveDialog(props: { settings: ChatSettings; presets: PresetList; onClose: () => void }) {
  const { settings, presets, onClose } = props
  const before = (name: string) => presets.data.find((preset) => preset.name === name)?.settings
  return (
    <FormDialog
      title="Save as a preset"
      submit="Save preset"
      fields={{
        name: {
          label: 'Name',
          required: true,
          check: presetNameProblem,
          hint: 'The name of an existing preset saves its next version.',
        },
      }}
      send={({ name }) =>
        requestJson<PresetView>('POST', '/console/api/presets', {
          name,
          settings: presetOfChat(settings, before(name)),
        })
      }
      stale={['/console/api/presets']}
      done={(saved) => `Saved as ${saved.model}, version ${saved.version}.`}
      onClose={onClose}
      foot={
        <p className="text-sm text-muted">
          Saves the first model, the system prompt and the parameters. Tools and the response format are not
          part of a preset.
        </p>
      }
    />
  )
}
