import type { CatalogModel } from './model-catalog.ts'

type Abilities = Pick<
  CatalogModel,
  'kind' | 'supported_parameters' | 'input_modalities' | 'reasoning' | 'cache_read' | 'zdr' | 'open_weights'
>

/** Abilities by the parameter that shows them. */
const OF_PARAMETERS: Readonly<Record<string, string>> = {
  tools: 'Tool calling',
  response_format: 'Structured output',
  dimensions: 'Shorter vectors',
  background: 'Transparent background',
  style: 'Style',
  translations: 'Translation into English',
  timestamp_granularities: 'Word timestamps',
}

const OF_MODALITIES: Readonly<Record<string, string>> = {
  image: 'Vision',
  file: 'File input',
  audio: 'Audio input',
  video: 'Video input',
}

/** What a model can do, as short names in a fixed order; what it cannot do is left out. */
export function modelAbilities(model: Abilities): string[] {
  const { kind = 'chat', supported_parameters: parameters, input_modalities: modalities } = model
  const isChat = kind === 'chat'
  const inputs = isChat ? modalities.map((modality) => OF_MODALITIES[modality]) : []
  return [
    ...Object.entries(OF_PARAMETERS).map(([parameter, name]) => parameters.includes(parameter) && name),
    ...inputs,
    isChat && model.reasoning && 'Reasoning',
    kind === 'image' && modalities.includes('image') && 'Image editing',
    model.cache_read !== undefined && 'Prompt caching',
    model.open_weights && 'Open weights',
    model.zdr && 'Zero data retention',
  ].filter((name) => typeof name === 'string')
}
