import { PRESET_NAME_PATTERN, type PresetSettings, SYSTEM_BYTES_MAX } from '../api/presets.ts'
import { parseExtendedRequest } from '../calls/extended-request.ts'
import { invalid } from '../kernel/errors.ts'

/** What precedes the name of a preset in the field `model` of a request. */
const PREFIX = '@preset/'

/** Maximum length of all settings as JSON. */
const SETTINGS_BYTES_MAX = 32 * 1024
/** The number in `@preset/name@3`. */
const VERSION = /^[1-9]\d{0,8}$/

/** A version of a preset, as a call uses it. */
export interface PresetVersion {
  name: string
  version: number
  settings: PresetSettings
}

/** What a request names; `version` null: the latest. */
export interface PresetReference {
  name: string
  version: number | null
}

/** Whether the field `model` of a body names a preset. It runs for every call. */
export const namesPreset = ({ model }: { model?: unknown }): boolean =>
  typeof model === 'string' && model.startsWith(PREFIX)

/** The reference in a field `model` that names a preset; null if it cannot be one. */
export function presetReference(model: string): PresetReference | null {
  const [name = '', version, ...rest] = model.slice(PREFIX.length).split('@')
  if (rest.length > 0 || !new RegExp(PRESET_NAME_PATTERN).test(name)) return null
  if (version === undefined) return { name, version: null }
  return VERSION.test(version) ? { name, version: Number(version) } : null
}

/** `name@3`, as call records name a version. */
export const presetLabel = ({ name, version }: Pick<PresetVersion, 'name' | 'version'>): string =>
  `${name}@${version}`

const areWeights = (weights: readonly number[], { model, models }: PresetSettings): boolean =>
  model === undefined &&
  new Set(models).size === weights.length &&
  models?.length === weights.length &&
  weights.reduce((sum, weight) => sum + weight, 0) === 100

/**
 * Validates settings that match their schema as a chat completion with them would be, and leaves out what is null.
 * Throws ApiError `invalid_request` whose `param` starts with `settings`.
 */
export function readPresetSettings(given: PresetSettings): PresetSettings {
  const settings: PresetSettings = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== null && value !== ''),
  )
  const { system, weights, ...fields } = settings
  if (Buffer.byteLength(system ?? '') > SYSTEM_BYTES_MAX)
    throw invalid('settings.system', `The system text may have at most ${SYSTEM_BYTES_MAX} bytes.`)
  if (Buffer.byteLength(JSON.stringify(settings)) > SETTINGS_BYTES_MAX)
    throw invalid('settings', `The settings may have at most ${SETTINGS_BYTES_MAX} bytes of JSON.`)
  if ([fields.model, ...(fields.models ?? [])].some((named) => namesPreset({ model: named })))
    throw invalid('settings.model', 'A preset names models, and no other preset.')
  if (weights && !areWeights(weights, fields))
    throw invalid(
      'settings.weights',
      '`weights` has a percentage for each of `models`, which differ, in sum 100.',
    )
  parseExtendedRequest({ ...fields, messages: [{ role: 'user', content: '' }] })
  return settings
}
