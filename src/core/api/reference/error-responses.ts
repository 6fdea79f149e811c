import { type ErrorCode, statusOfCode } from '../../kernel/errors.ts'
import type { Surface } from '../surfaces/surface-registry.ts'

/** The properties of an operation that decide which errors are possible. */
export interface FailingOperation {
  /** The required authentication; null: none. */
  security: 'apiKey' | 'session' | 'adminKey' | null
  hasBody: boolean
  /** Its path names one object. */
  isOfItem: boolean
  surface: Surface | undefined
}

/** Whether a surface makes calls to models. */
const makesCalls = ({ handler, method }: Surface): boolean =>
  method === 'POST' && !MAKING_NO_CALL.has(handler)

const MAKING_NO_CALL = new Set<Surface['handler']>([
  'provider-keys.create',
  'messages.count-tokens',
  'responses.cancel',
  'presets.create',
  'budgets.set',
  'guardrails.set',
  'guardrails.test',
])

/** Whether an `Idempotency-Key` is supported: files are not kept for a repeat. */
export const isRepeatable = (surface: Surface): boolean =>
  makesCalls(surface) && !/^(images|audio)\./.test(surface.handler)

const ACCESS: Record<NonNullable<FailingOperation['security']>, readonly ErrorCode[]> = {
  apiKey: ['missing_api_key', 'invalid_api_key', 'key_revoked', 'account_suspended', 'not_permitted'],
  session: ['not_signed_in', 'invalid_credentials', 'account_suspended', 'not_permitted'],
  adminKey: ['missing_api_key', 'invalid_api_key', 'key_revoked', 'not_permitted'],
}

const BODY: readonly ErrorCode[] = [
  'invalid_json',
  'invalid_request',
  'request_timeout',
  'request_too_large',
  'unsupported_media_type',
]

const CALL: readonly ErrorCode[] = [
  'context_length_exceeded',
  'content_policy_violation',
  'guardrail_denied',
  'insufficient_balance',
  'key_limit_exceeded',
  'model_not_found',
  'unsupported_shape',
  'concurrency_limit_exceeded',
  'all_providers_failed',
  'no_provider_available',
  'guardrail_unavailable',
  'upstream_timeout',
]

const ALWAYS: readonly ErrorCode[] = ['invalid_request', 'internal_error', 'overloaded']

/** The error codes that an operation may return, by status. */
export function errorCodes({
  security,
  hasBody,
  isOfItem,
  surface,
}: FailingOperation): Map<number, ErrorCode[]> {
  const mayBeUnavailable =
    surface !== undefined && (surface.access === 'granted' || surface.handler === 'messages')
  const codes: ErrorCode[] = [
    ...(security === null ? [] : ([...ACCESS[security], 'rate_limit_exceeded'] as const)),
    ...(hasBody ? BODY : []),
    ...(surface && makesCalls(surface) ? CALL : []),
    ...(surface && isRepeatable(surface) ? (['idempotency_conflict'] as const) : []),
    ...(surface?.handler === 'messages.count-tokens' || surface?.handler === 'models.catalog.get'
      ? (['model_not_found'] as const)
      : []),
    ...(mayBeUnavailable ? (['surface_unavailable'] as const) : []),
    ...(isOfItem ? (['not_found'] as const) : []),
    ...(hasBody && security !== 'apiKey' ? (['conflict'] as const) : []),
    ...ALWAYS,
  ]
  const distinct = [...new Set(codes)].sort((one, other) => statusOfCode(one) - statusOfCode(other))
  return Map.groupBy(distinct, statusOfCode)
}

const header = (description: string) => ({ description, schema: { type: 'string' } })

/** Headers of error responses by status. */
const HEADERS: Readonly<Record<number, object>> = {
  401: { 'WWW-Authenticate': header('How to authenticate, such as `Bearer`') },
  429: { 'Retry-After': header('Seconds') },
  503: { 'Retry-After': header('Seconds; where a retry may help') },
}

/** The error responses of an operation, in the form of its surface. */
export function errorResponses(operation: FailingOperation): Record<string, object> {
  const { surface } = operation
  const isNative = surface?.handler.startsWith('messages') === true
  const references = [...(isNative ? ['MessagesError'] : []), 'Error'].map((name) => ({
    $ref: `#/components/schemas/${name}`,
  }))
  const schema = references.length === 1 ? references[0] : { anyOf: references }
  const content = { 'application/json': { schema } }
  const responses = [...errorCodes(operation)].map(([status, codes]) => {
    const description = codes.map((code) => `\`${code}\``).join(', ')
    return [status, { description, ...(HEADERS[status] && { headers: HEADERS[status] }), content }] as const
  })
  return { ...Object.fromEntries(responses), default: { description: 'Any other error', content } }
}
