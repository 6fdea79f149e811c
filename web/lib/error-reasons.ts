import type { FailureKind } from '../../src/core/failover/attempt-failure.ts'
import type { ErrorCode } from '../../src/core/kernel/errors.ts'

const RETRY = 'Retry with growing delays; the same request may succeed in a moment.'
const CORRECT = 'Correct the request; the same one fails again.'

/** What each error code means, and what the client can do about it. For refused requests and for failed calls. */
const ERRORS: Readonly<Record<ErrorCode, readonly [reason: string, remedy: string]>> = {
  invalid_json: ['Invalid JSON', CORRECT],
  invalid_request: ['Invalid request', CORRECT],
  context_length_exceeded: [
    'Input too long for the model',
    'Shorten the messages, or choose a model with a larger context window.',
  ],
  content_policy_violation: [
    'Refused for its content',
    'Change the messages; other providers were not asked to answer them.',
  ],
  guardrail_denied: ['Denied by a guardrail', 'Change the messages, or the rules of the guardrail.'],
  missing_api_key: ['No API key was sent', 'Send a key in the Authorization header.'],
  invalid_api_key: ['Unknown API key', 'Use a key of this account.'],
  not_signed_in: ['Not signed in', 'Sign in again.'],
  invalid_credentials: ['Wrong email or password', 'Sign in again.'],
  insufficient_balance: ['Not enough balance', 'Add credit, or request fewer tokens.'],
  key_limit_exceeded: [
    'Spending limit or budget reached',
    'Raise the limit of the key or the budget, or wait until it resets.',
  ],
  payment_required: ['Payment required', 'Send an API key, or pay for the call.'],
  key_revoked: ['API key revoked, expired or paused', 'Use another key.'],
  not_permitted: ['Not allowed for this key', 'Change what the key may use, or use another key.'],
  account_suspended: ['Account suspended', 'Contact the operator.'],
  model_not_found: ['Unknown model', 'Choose a model of the catalog.'],
  surface_unavailable: ['Unknown endpoint', 'See the API reference for the paths that exist.'],
  not_found: ['Not found', CORRECT],
  method_not_allowed: ['Wrong HTTP method', CORRECT],
  request_timeout: ['Timed out before a provider was tried', RETRY],
  idempotency_conflict: ['Idempotency-Key used for another request', 'Use a new Idempotency-Key.'],
  conflict: ['Changed in the meantime', 'Load the latest state and try again.'],
  email_taken: ['Email address already in use', 'Sign in, or use another address.'],
  request_too_large: ['Request too large', 'Send less, or refer to files by their address.'],
  unsupported_media_type: ['Unsupported content type', CORRECT],
  unsupported_shape: ['Unsupported parameter', 'Remove the parameter, or choose a model that supports it.'],
  websocket_unsupported: ['WebSocket requested', 'Send an ordinary request.'],
  rate_limit_exceeded: ['Rate limit exceeded', 'Wait as long as Retry-After says, then retry.'],
  concurrency_limit_exceeded: [
    'Too many requests at a time',
    'Retry after some of the running requests have ended.',
  ],
  resource_unavailable: ['No capacity for the tier', 'Retry later, or without service_tier.'],
  internal_error: ['Internal error', 'Retry, and report the request ID if it persists.'],
  all_providers_failed: [
    'All providers failed',
    'Retry with growing delays. Fallback models in the request make this rarer.',
  ],
  overloaded: ['Gateway overloaded', RETRY],
  guardrail_unavailable: ['A guardrail did not answer', 'See that its service answers, then retry.'],
  no_provider_available: [
    'No provider available',
    'Retry after a few seconds, loosen the provider preferences, or name fallback models.',
  ],
  upstream_timeout: [
    'All providers timed out',
    'Retry with growing delays, or request a shorter completion.',
  ],
}

const rowOf = (code: string) => (ERRORS as Readonly<Record<string, (typeof ERRORS)[ErrorCode]>>)[code]

/** In words; a code of a newer gateway is shown as the API names it. */
export const errorReason = (code: string): string => rowOf(code)?.[0] ?? code

/** What the client can do; null: not known here. */
export const errorRemedy = (code: string): string | null => rowOf(code)?.[1] ?? null

/** How an attempt ended, where its name needs more words. */
const OUTCOMES: Partial<Record<FailureKind, string>> = {
  connect: 'no connection',
  reset: 'the connection broke',
  'key-unavailable': 'your key could not be read',
  silent: 'no first token in time',
  stalled: 'stalled between tokens',
  'broken-stream': 'cut off',
  unreadable: 'unreadable response',
  'empty-answer': 'empty response',
  'prefill-refused': 'could not continue the text',
  'rescue-mismatch': 'continued with other text',
  'call-timeout': 'ran out of time',
}

/** How an attempt ended: `server error`, `no first token in time`. */
export const outcomeText = (outcome: string): string =>
  (OUTCOMES as Readonly<Record<string, string>>)[outcome] ?? outcome.replaceAll('-', ' ')
