import { WIRES, type Wire } from '../../src/core/catalog/catalog.ts'

/** The wires whose providers get their key as it is; the clouds' own is tried beside their credentials. */
export const PLAIN_WIRES = WIRES.filter((wire) => wire !== 'bedrock-converse')

/** How the simulated providers speak a wire: the version in their path. */
export const WIRE_PATHS: Record<Wire, string> = {
  'chat-completions': 'v1',
  'anthropic-messages': 'v1',
  'google-generate-content': 'v1beta',
  responses: 'v1',
  'bedrock-converse': 'aws',
}
