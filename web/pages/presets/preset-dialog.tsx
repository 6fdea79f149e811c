import { useNavigate } from '@tanstack/react-router'
import type { PresetView } from '../../../src/core/api/presets.ts'
import { requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { wholeNumberProblem } from '../../lib/checks.ts'
import { moreProblem, presetForm, presetNameProblem, typedPreset } from '../../lib/presets.ts'

const temperatureProblem = (text: string): string | null =>
  text === '' || (/^\d*\.?\d+$/.test(text) && Number(text) <= 2) ? null : 'Enter a number from 0 to 2.'

/** Asks for the settings of a new preset, or of the next version of one. */
export function PresetDialog({ preset, onClose }: { preset?: PresetView; onClose: () => void }) {
  const navigate = useNavigate()
  const typed = presetForm(preset?.settings ?? {})
  return (
    <FormDialog
      title={preset ? `Edit ${preset.name}` : 'New preset'}
      submit={preset ? `Save version ${preset.version + 1}` : 'Create preset'}
      fields={{
        ...(!preset && {
          name: {
            label: 'Name',
            required: true,
            check: presetNameProblem,
            hint: 'Calls use it as @preset/name.',
          },
        }),
        models: {
          label: 'Models',
          initial: typed.models,
          rows: 2,
          placeholder: 'auto',
          hint: 'One ID per line, tried in order.',
        },
        system: { label: 'System text', initial: typed.system, rows: 5, exact: true, placeholder: 'None' },
        max_tokens: {
          label: 'Max output tokens',
          initial: typed.max_tokens,
          inputMode: 'numeric',
          placeholder: 'Model maximum',
          check: (text) => wholeNumberProblem(text),
        },
        temperature: {
          label: 'Temperature',
          initial: typed.temperature,
          inputMode: 'decimal',
          placeholder: 'Default',
          check: temperatureProblem,
        },
        more: {
          label: 'Other settings',
          initial: typed.more,
          rows: 4,
          check: moreProblem,
          placeholder: '{"provider": {"sort": "price", "max_price": {"completion": "10"}}}',
          hint: 'A JSON object: provider preferences, price caps, top_p, stop, seed and others.',
        },
      }}
      send={({ name = preset?.name ?? '', ...values }: Record<string, string>) =>
        requestJson<PresetView>('POST', '/console/api/presets', {
          name,
          settings: typedPreset(values as Parameters<typeof typedPreset>[0]),
        })
      }
      stale={['/console/api/presets']}
      done={(saved) => `Version ${saved.version} of ${saved.name} saved.`}
      onDone={(saved) => {
        if (!preset) void navigate({ to: '/presets/$name', params: { name: saved.name } })
      }}
      onClose={onClose}
    />
  )
}
