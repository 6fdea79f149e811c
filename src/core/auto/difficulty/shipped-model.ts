import { type DifficultyModel, decodeModel } from './difficulty-model.ts'
import weights from './difficulty-weights.json' with { type: 'json' }

/** The weights in this repository, decoded once when the process starts. */
export const SHIPPED_MODEL: DifficultyModel = decodeModel(weights)
