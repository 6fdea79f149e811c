import type { Wire } from '../core/catalog/catalog.ts'
import { createAnthropicMessagesClient } from './anthropic-messages/client.ts'
import { createChatCompletionsClient } from './chat-completions/client.ts'
import { createGoogleGenerateContentClient } from './google-generate-content/client.ts'
import type { Transport } from './http/transport.ts'
import type { ProviderClient } from './provider.ts'

export type ProviderRegistry = (wire: Wire) => ProviderClient

export interface RegistryOptions {
  transport: Transport
  /** Where providers' keys are looked up by name. */
  environment: Readonly<Record<string, string | undefined>>
  connectTimeoutMs: number
  /** Unix milliseconds. */
  now: () => number
}

/** The client for each wire a provider can speak. */
export function createProviderRegistry(options: RegistryOptions): ProviderRegistry {
  const clients: Record<Wire, ProviderClient> = {
    'chat-completions': createChatCompletionsClient(options),
    'anthropic-messages': createAnthropicMessagesClient(options),
    'google-generate-content': createGoogleGenerateContentClient(options),
  }
  return (wire) => clients[wire]
}
