import type { DocumentProvider } from '../../core/catalog-document.ts'

/** A provider of the built-in catalog and where the two data sources keep its models. */
export interface ImportedProvider {
  provider: DocumentProvider
  /** The name of its data file in pi-ai. */
  piAi: string
  /** Its id in genai-prices. */
  genaiPrices: string
  /** The vendor whose own service this is; null for one that runs the models of others. */
  maker: string | null
}

function provider(
  id: string,
  name: string,
  baseUrl: string,
  apiKeyEnv: string,
  maker: string | null = null,
  sources: { piAi?: string; genaiPrices?: string } = {},
): ImportedProvider {
  return {
    provider: {
      id,
      name,
      base_url: baseUrl,
      api_key_env: apiKeyEnv,
      // Only the maker of the wire refuses the older field, for its reasoning models.
      ...(id === 'openai' && { limit_parameter: 'max_completion_tokens' }),
    },
    piAi: sources.piAi ?? id,
    genaiPrices: sources.genaiPrices ?? id,
    maker,
  }
}

/**
 * Providers that speak the chat-completions wire at these addresses. Makers come before those that run
 * others' models. Neither source tells how they treat data, so none is marked as keeping none.
 */
export const IMPORTED_PROVIDERS: readonly ImportedProvider[] = [
  provider('openai', 'OpenAI', 'https://api.openai.com/v1', 'OPENAI_API_KEY', 'openai'),
  provider('anthropic', 'Anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY', 'anthropic'),
  provider(
    'google',
    'Google',
    'https://generativelanguage.googleapis.com/v1beta/openai',
    'GEMINI_API_KEY',
    'google',
  ),
  provider('mistral', 'Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY', 'mistralai'),
  provider('deepseek', 'DeepSeek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY', 'deepseek'),
  provider('xai', 'xAI', 'https://api.x.ai/v1', 'XAI_API_KEY', 'x-ai', { genaiPrices: 'x-ai' }),
  provider('moonshotai', 'Moonshot AI', 'https://api.moonshot.ai/v1', 'MOONSHOT_API_KEY', 'moonshotai'),
  provider('minimax', 'MiniMax', 'https://api.minimax.io/v1', 'MINIMAX_API_KEY', 'minimax'),
  provider('zai', 'Z.AI', 'https://api.z.ai/api/paas/v4', 'ZAI_API_KEY', 'z-ai'),
  provider('groq', 'Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  provider('cerebras', 'Cerebras', 'https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
  provider('together', 'Together AI', 'https://api.together.xyz/v1', 'TOGETHER_API_KEY'),
  provider('fireworks', 'Fireworks', 'https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY'),
  provider('baseten', 'Baseten', 'https://inference.baseten.co/v1', 'BASETEN_API_KEY'),
  provider('openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
]
