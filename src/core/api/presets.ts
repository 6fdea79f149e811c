import { type Static, Type } from 'typebox'
import { PRESET_NAME, PresetSettings } from '../presets/preset.ts'
import { CLOSED } from './request-fields.ts'
import { IsoTime, List } from './shared.ts'

/** POST /v2/presets: a new version of a preset, with its settings or those of the earlier version `restore`. */
export const NewPresetVersion = Type.Object(
  {
    name: PRESET_NAME,
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
