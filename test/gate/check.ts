import assert from 'node:assert/strict'
import type { SurfaceId } from '../../src/core/api/surfaces/surface-registry.ts'

/** What the release gate has to cover, as the specification lists it. */
export const SUBJECTS = [
  'exact path',
  'auth header',
  'required fields',
  'ignored fields',
  'non-stream envelope',
  'streaming protocol',
  'tool-call deltas',
  'usage',
  'errors',
  'rate limits',
  'client libraries',
] as const
export type Subject = (typeof SUBJECTS)[number]

/** What a check works with: a gateway over HTTP, and nothing of its inside. */
export interface GateContext {
  /** The gateway's origin. */
  url: string
  /** A key with a balance, to which the surface is open. */
  key: string
  /** The same with LIMITED_REQUESTS_PER_MINUTE, not used before. */
  limitedKey: string
  fetch: typeof fetch
  /** The bodies that the providers received for an upstream model since the start, oldest first. */
  received: (upstreamModel: string) => unknown[]
  /** A Python interpreter that has the client libraries; null with the reason where there is none. */
  python: { command: string } | { missing: string }
}

/** One thing that the gate demands of a surface. */
export interface Check {
  name: string
  subject: Subject
  /** Rejects if the surface fails, or with SkippedCheck. A text is a remark, such as the version of a client. */
  run: (context: GateContext) => Promise<unknown>
}

/** What a surface has to pass. */
export interface SurfaceGate {
  checks: readonly Check[]
  /** Subjects that the surface does not have, with the reason. */
  without?: Partial<Record<Subject, string>>
}

export type SurfaceGates = Readonly<Partial<Record<SurfaceId, SurfaceGate>>>

/** A check that this machine cannot run; its message says why. */
export class SkippedCheck extends Error {
  override readonly name = 'SkippedCheck'
}

export interface AskOptions {
  method?: string
  /** Sent as JSON, or as a form where the path takes one; a string as it is. */
  body?: unknown
  headers?: Record<string, string>
  /** Null: no `Authorization`. */
  key?: string | null
}

export interface Answer {
  status: number
  headers: Headers
  bytes: Buffer
  text: string
  /** The body as JSON; undefined if it is none. */
  json: unknown
}

/** Sends one request and reads its whole answer. */
export async function ask(context: GateContext, path: string, options: AskOptions = {}): Promise<Answer> {
  const { method = 'POST', body, headers, key = context.key } = options
  const response = await context.fetch(context.url + path, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && !isForm(path, body) && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isForm(path, body) ? formOf(body) : jsonOf(body) }),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString()
  return { status: response.status, headers: response.headers, bytes, text, json: parsed(text) }
}

const FORM_PATHS = ['/v1/images/edits', '/v1/audio/transcriptions', '/v1/audio/translations']

const isForm = (path: string, body: unknown): body is object =>
  FORM_PATHS.some((form) => path.startsWith(form)) && typeof body === 'object'

const jsonOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

function formOf(body: object): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) {
    if (value instanceof Blob) form.append(name, value, 'file')
    else if (value !== undefined) form.append(name, String(value))
  }
  return form
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Expects the one error body of the gateway, with this status and code. Returns the error. */
export function expectError({ status, headers, json, text }: Answer, code: string, ...statuses: number[]) {
  assert.ok(statuses.includes(status), `status ${status} instead of ${statuses.join(' or ')}: ${text}`)
  const { error, ...others } = json as { error: Record<string, unknown> }
  assert.deepEqual(others, {})
  assert.equal(error.code, code)
  assert.match(String(error.message), /\S/)
  assert.match(String(error.type), /_error$/)
  assert.ok(error.param === null || typeof error.param === 'string', 'param is a path or null')
  assert.equal(error.request_id, headers.get('x-request-id'), 'request_id is that of the header')
  return error
}
