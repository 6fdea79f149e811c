import { canonicalId } from './canonical-id.ts'
import { readGenaiWindows, readRoutedModels } from './read-genai-prices.ts'
import type { Litellm } from './read-litellm.ts'
import { readPiAiWindows, readRouterNames } from './read-pi-ai.ts'

/** Families whose weights are published, for models that the router does not list. */
const OPEN_FAMILIES = new RegExp(
  [
    'openai/gpt-oss|google/gemma|meta-llama/llama|microsoft/(phi|wizardlm)|nvidia/|nousresearch/|allenai/|ibm-granite/',
    'deepseek/deepseek-(v|r|chat|coder)|moonshotai/kimi-k2|minimax/minimax-(m[12]|01)|z-ai/glm-(4|5)(\\.\\d)?(-air)?$',
    'mistralai/(mixtral|mistral-(7b|nemo|small)|devstral-small|magistral-small|ministral|open-)',
    'qwen/(qwq|qvq|qwen-?[\\d.]+-(\\d|coder-\\d|vl-\\d|next|omni-\\d))|sao10k/|thedrummer/|neversleep/|gryphe/|undi95/|eva-unit',
    'anthracite|cognitivecomputations/|01-ai/yi-\\d|tencent/hunyuan-a|baidu/ernie-4.5-\\d|stepfun/step-3|xiaomi/mimo-v2',
  ].join('|'),
)

/** Tests whether a model's weights are open: the router of open weights lists it, or its family's are. */
export function openWeightsTest(piAiFolder: string): (key: string, id: string) => boolean {
  const names = [...readRouterNames(piAiFolder), ...readRoutedModels().map(({ model }) => model.id)]
  const keys = new Set(names.flatMap((name) => canonicalId(null, name)?.key ?? []))
  return (key, id) => keys.has(key) || OPEN_FAMILIES.test(id)
}

/** Providers of genai-prices whose names of models tell the vendor. */
const GENAI_PROVIDERS = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'x-ai',
  'azure',
  'avian',
  'ovhcloud',
  'cohere',
  'groq',
]

/**
 * Context windows that any provider in the data gives for a model, also one that is not in our table: a model's
 * window does not depend on the provider.
 */
export function windowsElsewhere(piAiFolder: string, litellm: Litellm): (key: string) => number[] {
  const known = [...readPiAiWindows(piAiFolder), ...litellm.windows, ...readGenaiWindows(GENAI_PROVIDERS)]
  const byKey = Map.groupBy(known, ({ name }) => canonicalId(null, name)?.key)
  return (key) => (byKey.get(key) ?? []).map(({ window }) => window)
}
