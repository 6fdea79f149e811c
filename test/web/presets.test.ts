import { expect, test } from 'vitest'
import type { PresetSettings } from '../../src/core/api/presets.ts'
import { NO_SETTINGS } from '../../web/lib/playground/chat-settings.ts'
import {
  chatSettingsOf,
  moreProblem,
  presetForm,
  presetNameProblem,
  presetOfChat,
  presetText,
  typedPreset,
} from '../../web/lib/presets.ts'

const SETTINGS: PresetSettings = {
  models: ['acme/swift', 'birch/open-leaf'],
  system: 'Be brief.\nBe kind.',
  max_tokens: 100,
  temperature: 0.5,
  provider: { zdr: true },
  stop: ['END', 'a\nb'],
}

test('what is shown of a preset and saved again unchanged is the same preset', () => {
  const routed: PresetSettings = {
    ...{ model: 'auto', routing_profile: 'eco', seed: 7, weights: [100] },
    provider: { sort: 'price', order: ['alpha'], max_price: { prompt: '1', completion: '2.5' } },
  }
  for (const settings of [SETTINGS, routed, { model: 'auto' }, {}])
    expect(typedPreset(presetForm(settings))).toEqual(settings)
})

test('routing has fields of its own, which take precedence over the JSON of the rest', () => {
  const form = presetForm({ provider: { zdr: true, sort: 'latency', ignore: ['alpha'] } })
  expect(form).toMatchObject({ zdr: 'true', sort: 'latency' })
  expect(JSON.parse(form.more)).toEqual({ provider: { ignore: ['alpha'] } })
  const more = '{"temperature": 1, "provider": {"sort": "price", "only": ["beta"]}}'
  expect(typedPreset({ ...form, zdr: '', temperature: '0.5', more })).toEqual({
    temperature: 0.5,
    provider: { sort: 'latency', only: ['beta'] },
  })
})

test('a name and other settings are checked before they are sent', () => {
  expect(presetNameProblem('support-2')).toBeNull()
  for (const name of ['', 'Support', '-x', 'x'.repeat(65)]) expect(presetNameProblem(name)).not.toBeNull()
  expect(moreProblem('')).toBeNull()
  expect(moreProblem('{"seed": 7}')).toBeNull()
  expect(moreProblem('[]')).toBe('Enter a JSON object.')
  expect(moreProblem('{')).toMatch(/not valid JSON/)
})

test('the playground loads a preset and saves it again without losing what it does not show', () => {
  const loaded = chatSettingsOf(SETTINGS)
  expect(loaded).toEqual({
    ...NO_SETTINGS,
    models: ['acme/swift'],
    system: 'Be brief.\nBe kind.',
    temperature: '0.5',
    max_tokens: '100',
    stop: 'END\na\\nb',
  })
  expect(presetOfChat(loaded, SETTINGS)).toEqual(SETTINGS)
  const tools = '[{"type": "function", "function": {"name": "f"}}]'
  const changed = {
    ...loaded,
    models: ['auto'],
    temperature: '',
    tools,
    response_format: 'json_object' as const,
  }
  expect(presetOfChat(changed, SETTINGS)).toEqual({
    model: 'auto',
    system: SETTINGS.system,
    max_tokens: 100,
    provider: { zdr: true },
    stop: ['END', 'a\nb'],
  })
})

test('versions are compared with the lines of the system text', () => {
  expect(presetText({ model: 'auto', system: 'One.\nTwo.' })).toBe(
    '{\n  "model": "auto"\n}\n\nSystem text:\nOne.\nTwo.',
  )
})
