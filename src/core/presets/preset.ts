import { type Static, Type } from 'typebox'
import { ChatBody } from '../calls/chat-request.ts'
import { ExtendedBody, parseExtendedRequest } from '../calls/extended-request.ts'
import { invalid } from '../kernel/errors.ts'

/** What precedes the name of a preset in the field `model` of a request. */
const PREFIX = '@preset/'

const NAME_CHARS_MAX = 64
const SYSTEM_BYTES_MAX = 16 * 1024
/** Maximum length of all settings as JSON. */
const SETTINGS_BYTES_MAX = 32 * 1024
/** The number in `@preset/name@3`. */
const VERSION = /^[1-9]\d{0,8}$/

const NAME = `^[a-z0-9][a-z0-9._-]{0,${NAME_CHARS_MAX - 1}}$`
export const PRESET_NAME = Type.String({
  pattern: NAME,
  errorMessage: `\`{param}\` takes 1 to ${NAME_CHARS_MAX} lower-case letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.`,
})

const { model, models, routing_profile, provider, max_tokens, temperature, top_p } = ChatBody.properties
const { stop, seed, presence_penalty, frequency_penalty, reasoning_effort } = ExtendedBody.properties

/** The settings of a version: fields of an extended chat completion, and a system text. */
export const PresetSettings = Type.Object(
  {
    model,
    models,
    routing_profile,
    provider,
    max_tokens,
    temperature,
    top_p,
    stop,
    seed,
    presence_penalty,
    frequency_penalty,
    reasoning_effort,
    system: Type.Optional(
      Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: SYSTEM_BYTES_MAX }),
    ),
  },
  { additionalProperties: false, errorMessage: { type: '`{param}` must be an object.' } },
)
export type PresetSettings = Static<typeof PresetSettings>

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
  if (rest.length > 0 || !new RegExp(NAME).test(name)) return null
  if (version === undefined) return { name, version: null }
  return VERSION.test(version) ? { name, version: Number(version) } : null
}

/** `name@3`, as call records name a version. */
export const presetLabel = ({ name, version }: Pick<PresetVersion, 'name' | 'version'>): string =>
  `${name}@${version}`

/**
 * Validates settings that match their schema as a chat completion with them would be, and leaves out what is null.
 * Throws ApiError `invalid_request` whose `param` starts with `settings`.
 */
export function readPresetSettings(given: PresetSettings): PresetSettings {
  const settings: PresetSettings = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== null && value !== ''),
  )
  const { system, ...fields } = settings
  if (Buffer.byteLength(system ?? '') > SYSTEM_BYTES_MAX)
    throw invalid('settings.system', `The system text may have at most ${SYSTEM_BYTES_MAX} bytes.`)
  if (Buffer.byteLength(JSON.stringify(settings)) > SETTINGS_BYTES_MAX)
    throw invalid('settings', `The settings may have at most ${SETTINGS_BYTES_MAX} bytes of JSON.`)
  if ([fields.model, ...(fields.models ?? [])].some((named) => namesPreset({ model: named })))
    throw invalid('settings.model', 'A preset names models, and no other preset.')
  parseExtendedRequest({ ...fields, messages: [{ role: 'user', content: '' }] })
  return settings
}
