/** A model by whatever name: its maker, its name there, and a key that different spellings share. */
export interface CanonicalId {
  vendor: string
  name: string
  key: string
}

/** Vendors by the names that model hosts give them. */
const VENDOR_NAMES: Record<string, string> = {
  'deepseek-ai': 'deepseek',
  'zai-org': 'z-ai',
  zai: 'z-ai',
  thudm: 'z-ai',
  mistral: 'mistralai',
  minimaxai: 'minimax',
  alibaba: 'qwen',
  xai: 'x-ai',
  spacexai: 'x-ai',
  meta: 'meta-llama',
  'meta-models': 'meta-llama',
  moonshot: 'moonshotai',
  'stepfun-ai': 'stepfun',
  xiaomimimo: 'xiaomi',
  bytedance: 'bytedance-seed',
  ibm: 'ibm-granite',
  particle: 'particle-ai',
  'prism-ml': 'prism-ml',
  zerooneai: '01-ai',
}

/** Vendors by how their models' names begin, for hosts that name no vendor. */
const VENDOR_BY_NAME: ReadonlyArray<[RegExp, string]> = [
  [/^(meta-)?llama|^muse-/, 'meta-llama'],
  [/^(qwen|qwq|qvq)/, 'qwen'],
  [/^deepseek/, 'deepseek'],
  [/^(zai-)?glm/, 'z-ai'],
  [/^(kimi|moonshot)/, 'moonshotai'],
  [/^minimax/, 'minimax'],
  [/^(gpt|o1|o3|o4|chatgpt)/, 'openai'],
  [/^(gemma|gemini)/, 'google'],
  [/^(mistral|mixtral|codestral|devstral|ministral|magistral|pixtral)/, 'mistralai'],
  [/^phi-/, 'microsoft'],
  [/^nemotron/, 'nvidia'],
  [/^hermes/, 'nousresearch'],
  [/^claude/, 'anthropic'],
  [/^(command|c4ai)/, 'cohere'],
  [/^granite/, 'ibm-granite'],
  [/^grok/, 'x-ai'],
  [/^nova-/, 'amazon'],
  [/^jamba/, 'ai21'],
  [/^mimo/, 'xiaomi'],
  [/^step-/, 'stepfun'],
  [/^olmo/, 'allenai'],
  [/^sonar/, 'perplexity'],
  [/^palmyra/, 'writer'],
  [/^(ling|ring)-/, 'inclusionai'],
  [/^lfm/, 'liquid'],
  [/^solar/, 'upstage'],
  [/^mercury/, 'inception'],
  [/^seed-/, 'bytedance-seed'],
  [/^(hunyuan|hy\d)/, 'tencent'],
  [/^ernie/, 'baidu'],
  [/^longcat/, 'meituan'],
  [/^intellect/, 'prime-intellect'],
  [/^inkling/, 'thinkingmachines'],
]

/** One model's other names, by `<vendor>/<name>`. */
const SAME_MODEL: Record<string, string> = {
  'mistralai/ministral-3b': 'ministral-3b-2512',
  'mistralai/ministral-8b': 'ministral-8b-2512',
  'mistralai/ministral-14b': 'ministral-14b-2512',
  'moonshotai/kimi-k2': 'kimi-k2-instruct',
  'moonshotai/kimi-k2-0905': 'kimi-k2-instruct-0905',
  'qwen/qwen-3-235b': 'qwen3-235b-a22b',
  'qwen/qwen-3-30b': 'qwen3-30b-a3b',
  'qwen/qwen3-235b-a22b-2507': 'qwen3-235b-a22b-instruct-2507',
  'qwen/qwen3-coder': 'qwen3-coder-480b-a35b-instruct',
  'qwen/qwen3-coder-30b-a3b': 'qwen3-coder-30b-a3b-instruct',
  'sao10k/l3-8b-lunaris': 'l3-lunaris-8b',
  'sao10k/l3.3-70b-euryale-v2.3': 'l3.3-euryale-70b',
  'anthropic/claude-4-opus': 'claude-opus-4',
  'anthropic/claude-4-sonnet': 'claude-sonnet-4',
  'anthropic/claude-3.5-sonnet-20241022': 'claude-3.5-sonnet',
  'cohere/command-a': 'command-a-03-2025',
  'google/gemini-3-flash': 'gemini-3-flash-preview',
  'google/gemini-3.1-pro': 'gemini-3.1-pro-preview',
  'mistralai/codestral': 'codestral-2508',
  'mistralai/mistral-saba-24b': 'mistral-saba',
  'mistralai/mistral-medium-3.5-128b': 'mistral-medium-3-5',
  'qwen/qwen3.8-max-0902': 'qwen3.8-max',
  'x-ai/grok-code-fast': 'grok-code-fast-1',
  'ai21/jamba-1.6-large': 'jamba-large-1.6',
  'ai21/jamba-1.6-mini': 'jamba-mini-1.6',
  'mistralai/pixtral-large-2411': 'pixtral-large',
  'qwen/qwen3.5-flash-02-23': 'qwen3.5-flash',
  'sakana/namazu': 'sakana-namazu',
  'mistralai/mistral-nemo-instruct-2407': 'mistral-nemo',
  'mistralai/open-mistral-nemo': 'mistral-nemo',
  'mistralai/mistral-small-3.2-24b-instruct-2506': 'mistral-small-3.2-24b-instruct',
}

/** Makers that are the vendors of everything they list; the others also run models of others. */
const RUNS_ITS_OWN_ONLY = new Set(['openai', 'anthropic', 'x-ai', 'deepseek', 'moonshotai', 'minimax'])

/**
 * The model that a provider's own name stands for, so that the offers of one model meet; null when the vendor
 * is unknown.
 * @param maker the vendor whose own service the provider is; null for a host
 */
export function canonicalId(maker: string | null, upstreamModel: string): CanonicalId | null {
  const whole = upstreamModel
    .toLowerCase()
    .replace(/^accounts\/fireworks\/models\//, '')
    // At the router of Hugging Face: who is to serve it.
    .replace(/:(?!\d)[a-z0-9-]+$/, '')
    .replace(/^(us|eu|apac|au|jp|global|us-gov)\.(?=[a-z0-9-]+\.)/, '')
    // `llama-v3p1` and `glm-4p5` are 3.1 and 4.5.
    .replace(/(\d)p(\d)/g, '$1.$2')
    .replace(/^llama-v(\d)/, 'llama-$1')
  const slash = whole.indexOf('/')
  if (slash > 0) {
    const rest = whole.slice(slash + 1)
    if (rest.includes('/')) return null
    const named = whole.slice(0, slash)
    return identify(VENDOR_NAMES[named] ?? named, rest)
  }
  if (maker !== null && RUNS_ITS_OWN_ONLY.has(maker)) return identify(maker, whole)
  const vendor = VENDOR_BY_NAME.find(([pattern]) => pattern.test(whole))?.[1] ?? maker
  return vendor === null ? null : identify(vendor, whole)
}

function identify(vendor: string, upstreamName: string): CanonicalId {
  let name = upstreamName
    .replace(/-(fp8|bf16|fp4|awq|nvfp4)$/, '')
    .replace(/^zai-/, '')
    .replace(/^nvidia-(?=nemotron)/, '')
  name = SAME_MODEL[`${vendor}/${name}`] ?? name
  // Version numbers: `claude-opus-4-5` at its maker is `claude-opus-4.5` elsewhere.
  if (vendor === 'anthropic') name = name.replace(/-(\d)-(\d{1,2})(?=-|$)/, '-$1.$2')
  if (vendor === 'meta-llama') {
    name = name
      .replace(/^meta-/, '')
      .replace(/-turbo$/, '')
      .replace(/^llama-3\.1-8b-instant$/, 'llama-3.1-8b-instruct')
      .replace(/^llama-3\.3-70b-versatile$/, 'llama-3.3-70b-instruct')
      .replace(/^llama-4-(scout|maverick)(-17b-\d+e)?(-instruct)?$/, 'llama-4-$1')
      .replace(/^(llama-?3\.[13]-\d+b)$/, '$1-instruct')
  }
  if (vendor === 'google')
    name = name
      .replace(/^(gemini-[\d.]+-.+)-00\d$/, '$1')
      .replace(/^(gemma-\d+-[a-z0-9]+(?:-a\d+b)?)$/, '$1-it')
  if (vendor === 'amazon') name = name.replace(/-v1$/, '')
  if (vendor === 'deepseek') name = name.replace(/^deepseek-chat-v3/, 'deepseek-v3')
  if (vendor === 'mistralai') name = name.replace(/^ministral-3-(\d+b)/, 'ministral-$1')
  if (vendor === 'mistralai') name = name.replace(/^(mistral-(?:medium|large)-\d)\.(\d)$/, '$1-$2')
  return { vendor, name, key: `${vendor}/${name.replace(/[^a-z0-9]/g, '')}` }
}

/** The catalog's id of a model: bare for the maker whose wire this is. */
export const catalogId = ({ vendor, name }: CanonicalId): string =>
  vendor === 'openai' ? name : `${vendor}/${name}`
