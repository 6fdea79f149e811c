import { referencesOf } from '../reference/kind-references.ts'
import type { SurfaceExample } from '../reference/surface-reference.ts'
import type { SurfaceId } from './surface-registry.ts'

const QUESTION = [{ role: 'user', content: 'Why do trains need shunting yards?' }]
const STORED_RESPONSE = { path: { id: 'resp_01JABCDEFGHJKMNPQRSTVWXYZ0' } }
const PROVIDER_KEY = { id: 'pkey_01JABCDEFGHJKMNPQRSTVWXYZ0' }

/** Examples of the surfaces whose request has more than a method and a path. */
export const SURFACE_EXAMPLES: Readonly<Partial<Record<SurfaceId, SurfaceExample>>> = {
  'chat-completions': {
    body: { model: 'auto', messages: QUESTION },
  },
  'chat-completions.extended': { body: { model: 'auto', messages: QUESTION, stop: ['\n\n'] } },
  messages: { body: { model: 'auto', max_tokens: 500, messages: QUESTION } },
  'messages.count-tokens': { body: { model: 'auto', messages: QUESTION } },
  ...referencesOf('request'),
  responses: { body: { model: 'auto', input: 'Why do trains need shunting yards?' } },
  'responses.compact': { body: { model: 'auto', input: QUESTION } },
  'responses.get': STORED_RESPONSE,
  'responses.delete': STORED_RESPONSE,
  'responses.cancel': STORED_RESPONSE,
  'responses.input-items': STORED_RESPONSE,
  'models.catalog.get': { path: { id: 'auto' } },
  generation: { path: { id: 'chatcmpl_01JABCDEFGHJKMNPQRSTVWXYZ0' } },
  usage: { query: { group_by: 'model' } },
  'usage.calls': { query: { limit: '20' } },
  'provider-keys.create': {
    body: { provider: 'openai', key: 'your-key-at-the-provider', name: 'team', allow_fallback: true },
  },
  'provider-keys.update': { path: PROVIDER_KEY, body: { disabled: true } },
  'provider-keys.delete': { path: PROVIDER_KEY },
}
