import type { PresetSettings } from '../../src/core/api/presets.ts'
import {
  type ChatSettings,
  isObject,
  jsonProblem,
  NO_SETTINGS,
  SAMPLING_SETTINGS,
  type SamplingSetting,
  settingsBody,
} from './playground/chat-settings.ts'

type RoutingField = 'routing_profile' | 'sort' | 'zdr' | 'max_price'

/** What is typed of a preset, one text a field; `models`: one a line; `more`: everything else as JSON. */
export type PresetForm = Record<'models' | 'more' | RoutingField | SamplingSetting, string>

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
  const { system, temperature, top_p, max_tokens, stop, seed, reasoning_effort } = chatSettingsOf(settings)
  const { provider, routing_profile: profile, weights, presence_penalty, frequency_penalty } = settings
  const { sort, zdr, max_price: prices, ...preferences } = provider ?? {}
  const { completion, ...otherPrices } = prices ?? {}
  const more = withoutEmpty({
    provider: withoutEmpty({ ...preferences, max_price: withoutEmpty(otherPrices) }),
    ...{ weights, presence_penalty, frequency_penalty },
  })
  return {
    ...{ system, temperature, top_p, max_tokens, stop, seed, reasoning_effort },
    models: modelsOf(settings).join('\n'),
    routing_profile: profile ?? '',
    sort: sort ?? '',
    zdr: zdr ? 'true' : '',
    max_price: completion == null ? '' : String(completion),
    more: more ? JSON.stringify(more, null, 2) : '',
  }
}

/** Without what is absent; undefined when nothing is left. */
function withoutEmpty<Fields extends object>(fields: Fields): Partial<Fields> | undefined {
  const entries = Object.entries(fields).filter(([, value]) => value != null)
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as Partial<Fields>)
}

/** The settings that were typed; they must have no problems. A field takes precedence over the JSON. */
export function typedPreset(form: PresetForm): PresetSettings {
  const { models, system, routing_profile: profile, sort, zdr, max_price: maxPrice } = form
  const [first, ...others] = models.split(/\s+/).filter((model) => model !== '')
  const more = (form.more.trim() === '' ? {} : JSON.parse(form.more)) as PresetSettings
  const provider = {
    ...more.provider,
    ...(sort !== '' && { sort }),
    ...(zdr !== '' && { zdr: true }),
    ...(maxPrice !== '' && { max_price: { ...more.provider?.max_price, completion: maxPrice } }),
  }
  return {
    ...more,
    ...(first !== undefined && (others.length === 0 ? { model: first } : { models: [first, ...others] })),
    ...settingsBody({ ...NO_SETTINGS, ...form, models: [] }),
    ...(system !== '' && { system }),
    ...(profile !== '' && { routing_profile: profile }),
    ...(Object.keys(provider).length > 0 && { provider }),
  } as PresetSettings
}

/** What is wrong with the JSON of other settings; null: nothing. */
export const moreProblem = (text: string): string | null =>
  text.trim() === '' ? null : jsonProblem(text, isObject, 'a JSON object')

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

/**
 * The settings of a preset that is saved in the playground: its first model, without tools and response format. Of the
 * preset before it, what the playground does not show is kept, also fallback models of the same first one.
 */
export function presetOfChat(settings: ChatSettings, before: PresetSettings = {}): PresetSettings {
  const [model = 'auto'] = settings.models
  const known = modelsOf(before)
  const isSame = known[0] === model
  const { weights, ...others } = before
  return typedPreset({
    ...presetForm(isSame ? before : others),
    ...Object.fromEntries(SAMPLING_SETTINGS.map((name) => [name, settings[name]])),
    models: (isSame ? known : [model]).join('\n'),
  })
}

/** The settings as text, with one field a line and the lines of the system text, to compare versions. */
export function presetText({ system, ...fields }: PresetSettings): string {
  return [JSON.stringify(fields, null, 2), ...(system ? ['', 'System text:', system] : [])].join('\n')
}
