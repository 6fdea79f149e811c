import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { PresetView } from '../../../src/core/api/presets.ts'
import { modelsQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import type { FieldSpec } from '../../components/form/form.tsx'
import { spendingLimitProblem } from '../../lib/checks.ts'
import { NO_SETTINGS, SAMPLING_SETTINGS, settingsProblems } from '../../lib/playground/chat-settings.ts'
import {
  moreProblem,
  type PresetForm,
  presetForm,
  presetNameProblem,
  typedPreset,
} from '../../lib/presets.ts'
import { ModelChoices } from '../playground/model-picker.tsx'
import { SAMPLING_FIELDS, SamplingFields } from '../playground/sampling-fields.tsx'

/** Models of one preset, at most. */
const MODELS_MAX = 8

const ROUTING_FIELDS = {
  sort: {
    label: 'Prefer providers by',
    options: [
      { value: '', name: 'Balance' },
      { value: 'price', name: 'Price' },
      { value: 'throughput', name: 'Throughput' },
      { value: 'latency', name: 'Latency' },
    ],
  },
  zdr: {
    label: 'Data retention',
    options: [
      { value: '', name: 'Any provider' },
      { value: 'true', name: 'Zero data retention only' },
    ],
  },
  max_price: {
    label: 'Max output price',
    inputMode: 'decimal',
    placeholder: '$ per million tokens',
    check: spendingLimitProblem,
  },
  routing_profile: {
    label: 'Profile of auto',
    options: [
      { value: '', name: 'Balanced' },
      { value: 'eco', name: 'Lower cost' },
      { value: 'premium', name: 'Higher quality' },
      { value: 'agentic', name: 'Tool use' },
    ],
  },
} satisfies Record<string, FieldSpec>
const ROUTING = Object.keys(ROUTING_FIELDS) as Array<keyof typeof ROUTING_FIELDS>

const MORE: FieldSpec = {
  label: 'Other settings',
  rows: 4,
  check: moreProblem,
  placeholder: '{"provider": {"order": ["alpha"]}, "weights": [90, 10]}',
  hint: 'A JSON object: provider.order, only, ignore and allow_fallbacks, weights and penalties.',
}

/** Asks for the settings of a new preset, which may begin with some models, or of the next version of one. */
export function PresetDialog(props: { preset?: PresetView; models?: string[]; onClose: () => void }) {
  const { preset, models = [], onClose } = props
  const navigate = useNavigate()
  const { data: catalog } = useQuery(modelsQuery)
  const typed = presetForm(preset?.settings ?? { models })
  const initial = (name: keyof PresetForm, spec: FieldSpec) => [name, { ...spec, initial: typed[name] }]
  const fields = Object.fromEntries([
    ['name', { label: 'Name', check: presetNameProblem, hint: 'Calls use it as @preset/name.' }],
    initial('models', { label: 'Models', exact: true }),
    ...SAMPLING_SETTINGS.map((name) =>
      initial(name, {
        ...SAMPLING_FIELDS[name],
        check: (text) => settingsProblems({ ...NO_SETTINGS, [name]: text })[name] ?? null,
      }),
    ),
    ...ROUTING.map((name) => initial(name, ROUTING_FIELDS[name])),
    initial('more', MORE),
  ]) as Record<keyof PresetForm | 'name', FieldSpec>
  fields.name.initial = preset?.name ?? ''
  return (
    <FormDialog
      title={preset ? `Edit ${preset.name}` : 'New preset'}
      submit={preset ? `Save version ${preset.version + 1}` : 'Create preset'}
      fields={fields}
      send={({ name, ...values }) =>
        requestJson<PresetView>('POST', '/console/api/presets', { name, settings: typedPreset(values) })
      }
      stale={['/console/api/presets']}
      done={(saved) => `Version ${saved.version} of ${saved.name} saved.`}
      onDone={(saved) => {
        if (!preset) void navigate({ to: '/presets/$name', params: { name: saved.name } })
      }}
      onClose={onClose}
    >
      {({ input, field }) => {
        const { value, onChange } = field('models')
        return (
          <>
            {!preset && input('name', { required: true })}
            <ModelChoices
              chosen={value === '' ? ['auto'] : value.split('\n')}
              max={MODELS_MAX}
              add="Add a fallback"
              models={(catalog?.models ?? []).filter(({ kind }) => kind === undefined)}
              onChange={(chosen) => onChange(chosen.join('\n'))}
            />
            <SamplingFields input={input} />
            <div className="columns gap-4 [--column:11rem]">{ROUTING.map((name) => input(name))}</div>
            <details className="disclosure" open={typed.more !== ''}>
              <summary>Advanced</summary>
              {input('more')}
            </details>
          </>
        )
      }}
    </FormDialog>
  )
}
