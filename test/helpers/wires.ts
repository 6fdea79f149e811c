import type { Wire } from '../../src/core/catalog/catalog.ts'

/** How the simulated providers speak a wire: the version in their path. */
export const WIRE_PATHS: Record<Wire, string> = {
  'chat-completions': 'v1',
  'anthropic-messages': 'v1',
  'google-generate-content': 'v1beta',
  responses: 'v1',
}
