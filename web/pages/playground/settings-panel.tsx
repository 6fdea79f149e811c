import { Button } from '../../components/form/button.tsx'
import { SelectField, TextField } from '../../components/form/fields.tsx'
import { FieldInput } from '../../components/form/form.tsx'
import {
  type ChatSettings,
  NO_SETTINGS,
  settingsProblems,
  type TextSetting,
} from '../../lib/playground/chat-settings.ts'
import { SAMPLING_FIELDS, SamplingFields } from './sampling-fields.tsx'

const FORMATS = [
  { value: '', name: 'Text' },
  { value: 'json_object', name: 'JSON object' },
  { value: 'json_schema', name: 'JSON schema' },
]

const EXAMPLE_TOOLS = `[
  {
    "type": "function",
    "function": {
      "name": "get_weather",
      "description": "The weather in a city.",
      "parameters": {
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"]
      }
    }
  }
]`

/** What every call of the conversation is sent with. Empty fields are not sent. */
export function SettingsPanel(props: { settings: ChatSettings; onChange: (settings: ChatSettings) => void }) {
  const { settings, onChange } = props
  const problems = settingsProblems(settings)
  const field = (name: TextSetting) => ({
    value: settings[name],
    onChange: (text: string) => onChange({ ...settings, [name]: text }),
    error: problems[name] ?? null,
  })
  return (
    // The conversation stays in sight below it.
    <section className="panel max-h-[45dvh] overflow-y-auto" aria-label="Settings">
      <div className="panel-body">
        <SamplingFields input={(name) => <FieldInput spec={SAMPLING_FIELDS[name]} bound={field(name)} />}>
          <SelectField
            label="Response format"
            value={settings.response_format}
            onChange={(value) =>
              onChange({ ...settings, response_format: value as ChatSettings['response_format'] })
            }
            options={FORMATS}
          />
        </SamplingFields>
        {settings.response_format === 'json_schema' && (
          <TextField
            label="JSON schema"
            {...field('schema')}
            rows={5}
            placeholder='{"type": "object", "properties": {…}}'
          />
        )}
        <TextField
          label="Tools"
          hint="A JSON array of functions. When the model calls one, you enter its result."
          {...field('tools')}
          rows={5}
        />
        <div className="row">
          {settings.tools.trim() === '' && (
            <Button size="small" onClick={() => onChange({ ...settings, tools: EXAMPLE_TOOLS })}>
              Insert an example tool
            </Button>
          )}
          <Button size="small" onClick={() => onChange({ ...NO_SETTINGS, models: settings.models })}>
            Reset settings
          </Button>
        </div>
      </div>
    </section>
  )
}
