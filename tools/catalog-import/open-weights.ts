import { canonicalId } from './canonical-id.ts'
import { readRoutedModels } from './read-genai-prices.ts'
import { readRouterNames } from './read-pi-ai.ts'

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
