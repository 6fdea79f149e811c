import type { PresetSettings } from '../../src/core/api/presets.ts'
import { type ChatSettings, NO_SETTINGS, settingsBody } from './playground/chat-settings.ts'

/** What is typed of a preset: one text a field, and everything else as JSON. */
export type PresetForm = Record<'models' | 'system' | 'max_tokens' | 'temperature' | 'more', string>

/** Names as the gateway takes them. */
export const presetNameProblem = (name: string): string | null =>
  /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)
    ? null
    : 'Use 1 to 64 lower-case letters, digits, dots, hyphens and underscores.'

const modelsOf = ({ model, models }: PresetSettings): string[] => [
  ...(model ? [model] : []),
  ...(models ?? []),
]

/** The settings of a version as they are typed. */
export function presetForm(settings: PresetSettings): PresetForm {
  const { model: _, models: __, system, max_tokens: maxTokens, temperature, ...more } = settings
  return {
    models: modelsOf(settings).join('\n'),
    system: system ?? '',
    max_tokens: maxTokens?.toString() ?? '',
    temperature: temperature?.toString() ?? '',
    more: Object.keys(more).length === 0 ? '' : JSON.stringify(more, null, 2),
  }
}

/** The settings that were typed; they must have no problems. */
export function typedPreset({ models, system, max_tokens, temperature, more }: PresetForm): PresetSettings {
  const [first, ...others] = models.split(/\s+/).filter((model) => model !== '')
  return {
    ...(first !== undefined && (others.length === 0 ? { model: first } : { models: [first, ...others] })),
    ...(system !== '' && { system }),
    ...(max_tokens !== '' && { max_tokens: Number(max_tokens) }),
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(more.trim() !== '' && JSON.parse(more)),
  }
}

/** What is wrong with the JSON of other settings; null: nothing. */
export function moreProblem(text: string): string | null {
  if (text.trim() === '') return null
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? null
      : 'Enter a JSON object.'
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}.`
  }
}

/** What the playground shows of a preset. */
export function chatSettingsOf(preset: PresetSettings): ChatSettings {
  const { system, temperature, top_p, max_tokens, stop, seed, reasoning_effort: effort } = preset
  const stops = typeof stop === 'string' ? [stop] : (stop ?? [])
  return {
    ...NO_SETTINGS,
    models: [modelsOf(preset)[0] ?? 'auto'],
    system: system ?? '',
    temperature: temperature?.toString() ?? '',
    top_p: top_p?.toString() ?? '',
    max_tokens: max_tokens?.toString() ?? '',
    stop: stops.map((text) => text.replaceAll('\n', '\\n')).join('\n'),
    seed: seed?.toString() ?? '',
    reasoning_effort: effort ?? '',
  }
}

/** The settings that the playground has none of; saving there keeps them. */
const KEPT = ['routing_profile', 'provider', 'presence_penalty', 'frequency_penalty'] as const

/**
 * The settings of a preset that is saved in the playground: its first model, without tools and response format. Of the
 * preset before it, what the playground does not show is kept, also fallback models of the same first one.
 */
export function presetOfChat(settings: ChatSettings, before: PresetSettings = {}): PresetSettings {
  const { tools: _, response_format: __, ...sampling } = settingsBody(settings)
  const [model = 'auto'] = settings.models
  const known = modelsOf(before)
  return {
    ...Object.fromEntries(KEPT.flatMap((name) => (before[name] == null ? [] : [[name, before[name]]]))),
    ...(known.length > 1 && known[0] === model ? { models: known } : { model }),
    ...sampling,
    ...(settings.system !== '' && { system: settings.system }),
  }
}

/** The settings as text, with one field a line, to compare versions. */
export function presetText(settings: PresetSettings): string {
  const { system, ...fields } = settings
  return [JSON.stringify(fields, null, 2), ...(system ? ['', 'System text:', system] : [])].join('\n')
}
