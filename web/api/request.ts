import type { ErrorBody } from '../../src/core/api/shared.ts'
import { BASE_PATH } from '../lib/base-path.ts'

const TIMEOUT_MS = 20_000

/** The request header that names the account a page shows; the gateway refuses it once another one is acted on. */
export const SHOWN_ACCOUNT_HEADER = 'x-shuntyard-account'
/** Asks which account that is. */
export const VISITOR_PATH = '/console/api/visitor'

let shownAccountId: string | null = null

/** Notes the account that pages show; null without a session. */
export const noteShownAccount = (id: string | null): void => {
  shownAccountId = id
}

/** A request that was refused or did not reach the gateway; `message` is for people. */
export class RequestFailure extends Error {
  override name = 'RequestFailure'
  /** 0: there was no response. */
  readonly status: number
  readonly code: string
  /** The field it is about; null: the whole request. */
  readonly param: string | null
  readonly requestId: string | null

  constructor(
    message: string,
    facts: { status: number; code: string; param?: string | null; requestId?: string | null },
  ) {
    super(message)
    this.status = facts.status
    this.code = facts.code
    this.param = facts.param ?? null
    this.requestId = facts.requestId ?? null
  }
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Requests JSON from a route of this origin. Throws RequestFailure on any refusal and on a timeout. */
export async function requestJson<T>(
  method: Method,
  path: string,
  body?: unknown,
  abort?: AbortSignal,
): Promise<T> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  const signal = abort ? AbortSignal.any([abort, deadline]) : deadline
  const response = await reach(path, { method, signal, ...(method !== 'GET' && jsonBody(body)) })
  if (!response.ok) throw await failureOf(response)
  return (response.status === 204 ? undefined : await response.json()) as T
}

/** ETags by response body, kept while the body is referenced. */
const tags = new WeakMap<object, string>()

/**
 * Reads JSON from a route of this origin. `known` is the former response body; it is returned again if the gateway
 * responds with 304. Throws like `requestJson`.
 */
export async function readJson<T extends object>(
  path: string,
  known: T | undefined,
  abort: AbortSignal,
): Promise<T> {
  const tag = known && tags.get(known)
  const signal = AbortSignal.any([abort, AbortSignal.timeout(TIMEOUT_MS)])
  const response = await reach(path, {
    method: 'GET',
    signal,
    ...(tag && { headers: { 'if-none-match': tag }, cache: 'no-store' }),
  })
  if (response.status === 304 && known) return known
  if (!response.ok) throw await failureOf(response)
  const body = (await response.json()) as T
  const newTag = response.headers.get('etag')
  if (newTag) tags.set(body, newTag)
  return body
}

/** JSON even without content: a form of another site cannot send a JSON request. */
export const jsonBody = (body: unknown): RequestInit => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body ?? {}),
})

/** A path whose variable parts are encoded: path`/console/api/keys/${id}/revoke`. */
export const path = (texts: TemplateStringsArray, ...parts: string[]): string =>
  String.raw(texts, ...parts.map(encodeURIComponent))

const shownAccount = (path: string): Record<string, string> =>
  shownAccountId !== null && path.startsWith('/console/api/') && path !== VISITOR_PATH
    ? { [SHOWN_ACCOUNT_HEADER]: shownAccountId }
    : {}

/** fetch with readable failures. An abort by the caller stays an abort. */
export async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(BASE_PATH + path, {
      ...init,
      headers: { ...init.headers, ...shownAccount(path) },
      credentials: 'same-origin',
    })
  } catch (error) {
    const name = (error as Error).name
    if (name === 'AbortError') throw error
    throw new RequestFailure(unreachable(name), { status: 0, code: 'unreachable' })
  }
}

function unreachable(errorName: string): string {
  if ('onLine' in navigator && !navigator.onLine)
    return 'You are offline. Check your connection and try again.'
  return errorName === 'TimeoutError'
    ? 'The gateway took too long to respond. Try again.'
    : 'The gateway cannot be reached. Check your connection and try again.'
}

/**
 * Loads a part of the console that is not loaded yet. Throws RequestFailure where the gateway cannot be reached; an
 * error of the browser where it can, since then a newer console has taken the place of this one.
 */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load()
  } catch (error) {
    await reach(VISITOR_PATH, { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) })
    throw error
  }
}

/** Reads the error body of a refusal; one that is not the gateway's, such as a proxy's, gets a generic message. */
export async function failureOf(response: Response): Promise<RequestFailure> {
  const { status } = response
  const body = (await response.json().catch(() => null)) as Partial<ErrorBody> | null
  if (!body?.error?.message) {
    return new RequestFailure(`The gateway responded with ${status}. Try again in a moment.`, {
      status,
      code: 'unknown',
    })
  }
  const { message, code, param, request_id: requestId } = body.error
  return new RequestFailure(message, { status, code, param, requestId })
}

/** The message of any failure, for showing. */
export function messageOf(error: unknown): string {
  return error instanceof RequestFailure ? error.message : 'Something went wrong on this page. Reload it.'
}

/** A query string of what is set; empty without any. */
export function queryString(parameters: Record<string, string | number | null | undefined>): string {
  const set = Object.entries(parameters).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const texts = Object.fromEntries(set.map(([name, value]) => [name, String(value)]))
  return set.length === 0 ? '' : `?${new URLSearchParams(texts)}`
}

const REFERENCE_BYTES = 12

/** A reference for one posting, so that a retry after a lost response posts once. Works on plain http, too. */
export const newReference = (): string =>
  `console-${[...crypto.getRandomValues(new Uint8Array(REFERENCE_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
