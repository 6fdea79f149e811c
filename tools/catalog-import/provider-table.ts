import type { DocumentProvider } from '../../src/core/catalog/catalog-document.ts'

/** A provider of the built-in catalog and where the data sources keep its models. */
export interface ImportedProvider {
  provider: DocumentProvider
  /** The name of its data file in pi-ai. */
  piAi: string
  /** Its id in genai-prices. */
  genaiPrices: string
  /** The vendor whose own service this is; null for one that runs the models of others. */
  maker: string | null
}

type Row = [id: string, name: string, baseUrl: string, apiKeyEnv: string]

interface RowOptions
  extends Partial<Omit<ImportedProvider, 'provider'>>,
    Pick<DocumentProvider, 'wire' | 'limit_parameter' | 'quirks' | 'zdr' | 'data_collection'> {}

function provider([id, name, baseUrl, apiKeyEnv]: Row, options: RowOptions = {}): ImportedProvider {
  const { piAi = id, genaiPrices = id, maker = null, ...fields } = options
  return {
    provider: { id, name, base_url: baseUrl, api_key_env: apiKeyEnv, ...fields },
    piAi,
    genaiPrices,
    maker,
  }
}

/** Makers' own services. */
const MAKERS: readonly ImportedProvider[] = [
  provider(['openai', 'OpenAI', 'https://api.openai.com/v1', 'OPENAI_API_KEY'], {
    maker: 'openai',
    // Its reasoning models refuse the older field.
    limit_parameter: 'max_completion_tokens',
  }),
  provider(['anthropic', 'Anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY'], {
    maker: 'anthropic',
    wire: 'anthropic-messages',
    quirks: { one_sampling_parameter: true },
  }),
  provider(['google', 'Google', 'https://generativelanguage.googleapis.com/v1beta', 'GEMINI_API_KEY'], {
    maker: 'google',
    wire: 'google-generate-content',
  }),
  provider(['mistral', 'Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY'], {
    maker: 'mistralai',
    quirks: {
      omit: ['stream_options'],
      temperature_max: 1.5,
      named_roles: ['tool'],
      prefill_field: 'prefix',
    },
  }),
  provider(['deepseek', 'DeepSeek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'], {
    maker: 'deepseek',
    quirks: { json_object_only: true },
  }),
  provider(['xai', 'xAI', 'https://api.x.ai/v1', 'XAI_API_KEY'], {
    maker: 'x-ai',
    genaiPrices: 'x-ai',
    limit_parameter: 'max_completion_tokens',
    quirks: { named_roles: ['user'] },
  }),
  provider(['moonshotai', 'Moonshot AI', 'https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY'], {
    maker: 'moonshotai',
    quirks: { temperature_max: 1, json_object_only: true, prefill_field: 'partial' },
  }),
  provider(['minimax', 'MiniMax', 'https://api.minimax.io/v1', 'MINIMAX_API_KEY'], {
    maker: 'minimax',
    // Without this its thinking comes inside the text.
    quirks: { temperature_max: 1, fixed_fields: { reasoning_split: true } },
  }),
  provider(['zai', 'Z.AI', 'https://api.z.ai/api/paas/v4', 'ZAI_API_KEY'], {
    maker: 'z-ai',
    quirks: { temperature_max: 1, json_object_only: true },
  }),
  provider(
    [
      'alibaba',
      'Alibaba Cloud',
      'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
      'DASHSCOPE_API_KEY',
    ],
    {
      maker: 'qwen',
      // Its range ends before 2.
      quirks: { temperature_max: 1.99, json_object_only: true, prefill_field: 'partial' },
    },
  ),
  provider(['cohere', 'Cohere', 'https://api.cohere.ai/compatibility/v1', 'COHERE_API_KEY'], {
    maker: 'cohere',
    quirks: { temperature_max: 1 },
  }),
  provider(['perplexity', 'Perplexity', 'https://api.perplexity.ai', 'PERPLEXITY_API_KEY'], {
    maker: 'perplexity',
    quirks: { omit: ['tools'] },
  }),
  provider(['ai21', 'AI21', 'https://api.ai21.com/studio/v1', 'AI21_API_KEY'], {
    maker: 'ai21',
    quirks: { json_object_only: true },
  }),
  provider(['xiaomi', 'Xiaomi', 'https://api.xiaomimimo.com/v1', 'XIAOMI_API_KEY'], { maker: 'xiaomi' }),
]

/** Services that run the models of others. */
const HOSTS: readonly ImportedProvider[] = [
  provider(['groq', 'Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'], {
    limit_parameter: 'max_completion_tokens',
  }),
  provider(['cerebras', 'Cerebras', 'https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'], {
    limit_parameter: 'max_completion_tokens',
  }),
  provider(['together', 'Together AI', 'https://api.together.xyz/v1', 'TOGETHER_API_KEY']),
  provider(['fireworks', 'Fireworks', 'https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY']),
  provider(['baseten', 'Baseten', 'https://inference.baseten.co/v1', 'BASETEN_API_KEY']),
  provider(['sambanova', 'SambaNova', 'https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY']),
  provider(['deepinfra', 'DeepInfra', 'https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY']),
  provider(['novita', 'Novita AI', 'https://api.novita.ai/v3/openai', 'NOVITA_API_KEY']),
  provider(['hyperbolic', 'Hyperbolic', 'https://api.hyperbolic.xyz/v1', 'HYPERBOLIC_API_KEY']),
  provider(['nebius', 'Nebius', 'https://api.tokenfactory.nebius.com/v1', 'NEBIUS_API_KEY']),
  provider(['nvidia', 'NVIDIA NIM', 'https://integrate.api.nvidia.com/v1', 'NVIDIA_API_KEY']),
  provider(['huggingface', 'Hugging Face', 'https://router.huggingface.co/v1', 'HF_TOKEN']),
  // Not GITHUB_TOKEN, which is set on many machines for other purposes.
  provider(['github', 'GitHub Models', 'https://models.github.ai/inference', 'GITHUB_MODELS_TOKEN'], {
    quirks: { headers: { 'x-github-api-version': '2022-11-28' } },
  }),
  provider(
    [
      'ovhcloud',
      'OVHcloud',
      'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
      'OVH_AI_ENDPOINTS_ACCESS_TOKEN',
    ],
    // "Data is not stored or shared during or after model use", of the whole service: "AI Endpoints - Features,
    // Capabilities and Limitations", github.com/ovh/docs endpoints_guide_02_capabilities, read 2026-11-22.
    { zdr: true, data_collection: 'deny' },
  ),
  provider(['scaleway', 'Scaleway', 'https://api.scaleway.ai/v1', 'SCALEWAY_API_KEY']),
  provider(['parasail', 'Parasail', 'https://api.parasail.io/v1', 'PARASAIL_API_KEY']),
  provider(['inference', 'Inference.net', 'https://api.inference.net/v1', 'INFERENCE_API_KEY']),
  provider(['friendli', 'Friendli', 'https://api.friendli.ai/serverless/v1', 'FRIENDLI_TOKEN']),
  provider(['featherless', 'Featherless AI', 'https://api.featherless.ai/v1', 'FEATHERLESS_API_KEY']),
  provider(['chutes', 'Chutes', 'https://llm.chutes.ai/v1', 'CHUTES_API_KEY']),
  provider(['nscale', 'Nscale', 'https://inference.api.nscale.com/v1', 'NSCALE_API_KEY']),
  provider(['vercel', 'Vercel AI Gateway', 'https://ai-gateway.vercel.sh/v1', 'AI_GATEWAY_API_KEY'], {
    piAi: 'vercel-ai-gateway',
  }),
  provider(['openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY']),
]

/**
 * The best-known providers that take a plain key at a fixed address; each is in use as soon as its key is in
 * the environment. Makers come before those that run others' models. `zdr` stands where a provider's published
 * terms promise it for all calls, without an opt-in or an agreement; docs/catalog.md has the sources. Operators who
 * have an agreement set it in their own catalog file. docs/providers.md has the source of each quirk.
 */
export const IMPORTED_PROVIDERS: readonly ImportedProvider[] = [...MAKERS, ...HOSTS]
