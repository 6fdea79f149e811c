import type { TestModels } from '../../helpers/test-catalog.ts'

/** The client libraries for Node that are tried, and what is installed for them. */
export const NODE_SDKS: { names: readonly string[]; versions: Readonly<Record<string, string>> } = {
  names: [
    'openai',
    '@anthropic-ai/sdk',
    '@ai-sdk/openai-compatible',
    '@ai-sdk/openai',
    '@ai-sdk/anthropic',
    '@openrouter/ai-sdk-provider',
    '@langchain/openai',
    '@openai/agents',
  ],
  versions: {
    openai: '7.57.0',
    '@anthropic-ai/sdk': '1.14.0',
    ai: '7.0.173',
    '@ai-sdk/openai-compatible': '3.0.92',
    '@ai-sdk/openai': '4.0.118',
    '@ai-sdk/anthropic': '4.0.105',
    '@openrouter/ai-sdk-provider': '3.1.0',
    '@langchain/core': '1.4.0',
    '@langchain/openai': '1.6.0',
    '@openai/agents': '0.20.0',
    zod: '4.6.7',
  },
}

/** The client libraries for Python, each in an environment of its own: they ask for different versions of `openai`. */
export const PYTHON_SDKS: ReadonlyArray<{ name: string; versions: Readonly<Record<string, string>> }> = [
  { name: 'openai', versions: { openai: '3.57.0' } },
  { name: 'langchain-openai', versions: { 'langchain-openai': '1.7.4' } },
  { name: 'llama-index-llms-openai-like', versions: { 'llama-index-llms-openai-like': '0.8.1' } },
  { name: 'pydantic-ai-slim', versions: { 'pydantic-ai-slim[openai]': '2.68.0' } },
  { name: 'openai-agents', versions: { 'openai-agents': '0.24.0' } },
  { name: 'instructor', versions: { instructor: '1.17.0' } },
  { name: 'litellm', versions: { litellm: '1.110.2' } },
]

/** The libraries of both languages, as `npm run gate -- --sdks` takes them. */
export const SDK_NAMES = [...new Set([...NODE_SDKS.names, ...PYTHON_SDKS.map(({ name }) => name)])]

const PLAIN = 'sdk/plain'
const SLOW = 'sdk/slow'
const ALONE = { auto: false }

/** The model of each row. For `retry` its first two attempts fail. */
export const modelsOfSdk = (name: string) => ({
  plain: PLAIN,
  stream: PLAIN,
  tools: PLAIN,
  structured: PLAIN,
  images: PLAIN,
  abort: SLOW,
  retry: `sdk-retry/${wordOf(name)}`,
  methods: PLAIN,
})

const wordOf = (name: string): string => name.replaceAll(/[^a-z]/g, '')

const NAMES = [...NODE_SDKS.names, ...PYTHON_SDKS.map(({ name }) => `python ${name}`)]

export const SDK_MODELS: TestModels = {
  [PLAIN]: {
    ...ALONE,
    input_modalities: ['text', 'image'],
    offers: [{ at: 'celesta', model: 'words-40.burst-1.tag-sdk' }],
  },
  [SLOW]: { ...ALONE, offers: [{ at: 'celesta', model: 'words-400.rate-20.tag-sdk' }] },
  ...Object.fromEntries(
    // Each at a provider of its own, so that no breaker opens for another's failures.
    NAMES.map((name) => [
      modelsOfSdk(name).retry,
      { ...ALONE, offers: [{ at: `flaky${wordOf(name)}`, model: `flaky-2.tag-${wordOf(name)}` }] },
    ]),
  ),
}
