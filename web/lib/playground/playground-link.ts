import { type ChatSettings, MODELS_MAX, NO_SETTINGS, TEXT_SETTINGS } from './chat-settings.ts'

const NAME = 'playground='
/** The name of the draft of the playground's message. */
export const MESSAGE_DRAFT = 'playground message'
const FORMATS = ['json_object', 'json_schema'] as const

/**
 * The settings as the fragment of an address, which browsers send to no server: models and what differs from the
 * defaults. Never a key, never a message; the system prompt only where asked for. In base64url, so that nothing on its
 * way changes a character of it.
 */
export function linkFragment(settings: ChatSettings, withSystem: boolean): string {
  const { models, response_format: format } = settings
  const texts = TEXT_SETTINGS.filter(
    (name) =>
      settings[name].trim() !== '' &&
      (name !== 'system' || withSystem) &&
      (name !== 'schema' || format === 'json_schema'),
  ).map((name) => [name, settings[name]])
  const linked = { models, ...Object.fromEntries(texts), ...(format !== '' && { response_format: format }) }
  return `#${NAME}${toBase64Url(JSON.stringify(linked))}`
}

/** The settings of such a fragment, checked like any input; null: it is none. */
export function readLinkFragment(fragment: string): ChatSettings | null {
  const text = fragment.replace(/^#/, '')
  if (!text.startsWith(NAME)) return null
  const linked = parsed(text.slice(NAME.length))
  const models = (Array.isArray(linked?.models) ? linked.models : []).filter(
    (model) => typeof model === 'string' && model.trim() !== '',
  )
  if (linked === null || models.length === 0) return null
  const texts = TEXT_SETTINGS.map((name) => [name, typeof linked[name] === 'string' ? linked[name] : ''])
  return {
    ...NO_SETTINGS,
    ...Object.fromEntries(texts),
    models: models.slice(0, MODELS_MAX),
    response_format: FORMATS.find((format) => format === linked.response_format) ?? '',
  }
}

function toBase64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte))
  return btoa(bytes.join('')).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Null: it is no object in base64url. */
function parsed(encoded: string): Record<string, unknown> | null {
  try {
    const bytes = Uint8Array.from(atob(encoded.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    )
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null
  } catch {
    // A link that was cut or mistyped opens the playground as it is.
    return null
  }
}
