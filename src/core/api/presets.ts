import { type Static, Type } from 'typebox'
import { CHAT_PARAMETERS, EXTENDED_PARAMETERS, MAX_MODELS } from '../calls/request-parameters.ts'
import { CLOSED, optional } from './request-fields.ts'
import { IsoTime, List } from './shared.ts'

const NAME_CHARS_MAX = 64
export const PRESET_NAME_PATTERN = `^[a-z0-9][a-z0-9._-]{0,${NAME_CHARS_MAX - 1}}$`
export const SYSTEM_BYTES_MAX = 16 * 1024

const Name = Type.String({
  pattern: PRESET_NAME_PATTERN,
  errorMessage: `\`{param}\` takes 1 to ${NAME_CHARS_MAX} lower-case letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.`,
})

/** The settings of a version: fields of an extended chat completion, and a system text. */
export const PresetSettings = Type.Object(
  {
    ...CHAT_PARAMETERS,
    ...EXTENDED_PARAMETERS,
    /** The percent of conversations that start with each of `models`. */
    weights: optional(Type.Array(Type.Integer({ minimum: 0, maximum: 100 }), { maxItems: MAX_MODELS })),
    system: Type.Optional(
      Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: SYSTEM_BYTES_MAX }),
    ),
  },
  { additionalProperties: false, errorMessage: { type: '`{param}` must be an object.' } },
)
export type PresetSettings = Static<typeof PresetSettings>

/** POST /v2/presets: a new version of a preset, with its settings or those of the earlier version `restore`. */
export const NewPresetVersion = Type.Object(
  {
    name: Name,
    settings: Type.Optional(PresetSettings),
    restore: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999_999 })),
  },
  CLOSED,
)

export const PresetQuery = Type.Object(
  { version: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999_999 })) },
  CLOSED,
)

/** A version of a preset. */
export const PresetView = Type.Object({
  object: Type.Literal('preset'),
  name: Type.String(),
  version: Type.Integer(),
  /** What a request sends as `model` for the latest version. */
  model: Type.String(),
  settings: PresetSettings,
  created_at: IsoTime,
})
export type PresetView = Static<typeof PresetView>

/** A version, and all that are kept, latest first. */
export const PresetDetail = Type.Interface([PresetView], {
  versions: Type.Array(Type.Object({ version: Type.Integer(), created_at: IsoTime })),
})
export type PresetDetail = Static<typeof PresetDetail>

export const PresetList = List(PresetView)
export type PresetList = Static<typeof PresetList>

export const PresetDeleted = Type.Object({
  name: Type.String(),
  object: Type.Literal('preset'),
  deleted: Type.Literal(true),
})
