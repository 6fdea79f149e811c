import { chatNeeds } from '../calls/kinds/chat.ts'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { isObject } from '../json/json-object.ts'
import { chooseAutoModels } from './auto-routing.ts'
import type { RoutingProfile } from './routing-profiles.ts'

/** A prompt of RouterArena, as its predictions must repeat it. */
interface ArenaPrompt {
  index: string
  prompt: string
}

/** An entry of RouterArena's file of predictions. Its tools fill in the nulls. */
interface ArenaPrediction {
  'global index': string
  prompt: string
  prediction: string
  generated_result: null
  cost: null
  accuracy: null
}

/** Reads a JSON list, or JSON lines. Throws if an entry lacks its index or its prompt. */
export function arenaPrompts(text: string): ArenaPrompt[] {
  const isList = text.trimStart().startsWith('[')
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const entries: unknown[] = isList ? JSON.parse(text) : lines.map((line) => JSON.parse(line))
  return entries.map((entry, at) => {
    const {
      'global index': index,
      prompt_formatted: formatted,
      prompt = formatted,
    } = isObject(entry) ? entry : {}
    const asked = formatted || prompt
    if (typeof index !== 'string' || typeof asked !== 'string')
      throw new Error(`entry ${at + 1}: "global index" and prompt_formatted or prompt must be texts`)
    return { index, prompt: asked }
  })
}

/** Reads RouterArena's names of models by their ids in the catalog. */
export function arenaNames(value: unknown): Map<string, string> {
  const entries = isObject(value) ? Object.entries(value) : []
  const names = entries.flatMap(
    ([id, name]): Array<[string, string]> => (typeof name === 'string' ? [[id, name]] : []),
  )
  if (names.length === 0 || names.length < entries.length)
    throw new Error('names must be an object of model ids and their names at RouterArena')
  return new Map(names)
}

/** What `auto` chooses for each prompt. With names only among their models; otherwise predictions are ids. */
export function arenaPredictions(
  prompts: readonly ArenaPrompt[],
  names: ReadonlyMap<string, string> | null,
  profile: RoutingProfile,
  catalog: CatalogSnapshot,
): ArenaPrediction[] {
  const unknown = [...(names?.keys() ?? [])].filter(
    (id) => !catalog.autoLadder.some((model) => model.id === id),
  )
  if (unknown.length > 0) throw new Error(`not among the models of auto: ${unknown.join(', ')}`)
  const isNamed = ({ id }: { id: string }) => names === null || names.has(id)
  return prompts.map(({ index, prompt }) => {
    const needs = chatNeeds({
      messages: [{ role: 'user', content: prompt }],
      parameters: {},
      routingProfile: profile,
    })
    const [model] = chooseAutoModels(needs.auto, needs, catalog, () => true, isNamed).models
    if (!model) throw new Error(`no model for ${index}`)
    return {
      'global index': index,
      prompt,
      prediction: names?.get(model.id) ?? model.id,
      generated_result: null,
      cost: null,
      accuracy: null,
    }
  })
}
