import { lookup } from 'node:dns'
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import {
  AddressRefused,
  checkWebhookUrl,
  createGuardedLookup,
  createResolveName,
  isPublicAddress,
  type ResolveName,
} from './public-address.ts'

export interface GuardedPostOptions {
  /** Permits private addresses, any port, and plain http. */
  allowPrivate: boolean
  userAgent: string
  /** A response is read up to this size and then cut off. */
  answerBytesMax?: number
  /** Whether connections are used again; they stay at the address that was checked. */
  reusesConnections?: boolean
  /** Name resolution. By default DNS only, and the system's resolver if private addresses are allowed. */
  resolve?: ResolveName
}

export type PostResult =
  /** `body`: null if it was too long, or broke off. */
  | { kind: 'answered'; statusCode: number; retryAfter: string | undefined; body: string | null }
  /** No response: address rejected, no connection, or deadline exceeded. `error` is the reason, for the log. */
  | { kind: 'unanswered'; error: string }

/** Posts JSON. Never rejects: every failure is a result. */
export type GuardedPost = (
  url: string,
  body: string,
  options: {
    headers: Record<string, string>
    /** From start to end of the response, ms. */
    timeoutMs: number
    /** Aborts it. */
    signal?: AbortSignal
  },
) => Promise<PostResult>

const ANSWER_BYTES_MAX = 64 * 1024
const ERROR_LENGTH_MAX = 200

/**
 * An HTTP client for URLs chosen by clients: public addresses only, checked when the socket connects; no redirects, no
 * proxy, and a deadline for the whole request.
 */
export function createGuardedPost({
  allowPrivate,
  userAgent,
  answerBytesMax = ANSWER_BYTES_MAX,
  reusesConnections = false,
  resolve = allowPrivate ? lookup : createResolveName(),
}: GuardedPostOptions): GuardedPost {
  const guardedLookup = createGuardedLookup(resolve, (address) => allowPrivate || isPublicAddress(address))
  const agents = reusesConnections && {
    http: new HttpAgent({ keepAlive: true }),
    https: new HttpsAgent({ keepAlive: true }),
  }
  return async (text, body, { headers, timeoutMs, signal: aborted }) => {
    const unanswered = (error: string): PostResult => ({
      kind: 'unanswered',
      error: error.slice(0, ERROR_LENGTH_MAX),
    })
    // The rules may have become stricter since the address was stored.
    const check = checkWebhookUrl(text, allowPrivate)
    if (check.kind === 'refused') return unanswered(`the address ${check.reason}`)
    const { url } = check
    const isSecure = url.protocol === 'https:'
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = aborted ? AbortSignal.any([deadline, aborted]) : deadline
    const post = (isFresh: boolean) =>
      new Promise<PostResult>((settle) => {
        const request = (isSecure ? requestHttps : requestHttp)(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'content-length': String(Buffer.byteLength(body)),
            'user-agent': userAgent,
            ...headers,
          },
          agent: agents && !isFresh && agents[isSecure ? 'https' : 'http'],
          lookup: guardedLookup,
          signal,
        })
        let answered: PostResult | null = null
        request.on('error', (error) => {
          if (answered) return settle(answered)
          // The service closed a connection that was idle.
          if (request.reusedSocket && !signal.aborted) return settle(post(true))
          settle(unanswered(deadline.aborted ? `no response within ${timeoutMs} ms` : describe(error)))
        })
        request.on('response', (response) => {
          const { statusCode = 0, headers } = response
          const answer = { kind: 'answered' as const, statusCode, retryAfter: headers['retry-after'] }
          answered = { ...answer, body: null }
          let bytes = 0
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length
            if (bytes > answerBytesMax) response.destroy()
            else chunks.push(chunk)
          })
          // The status counts also where the rest of the response fails.
          response.on('error', () => undefined)
          response.on('close', () => {
            const isWhole = response.complete && bytes <= answerBytesMax
            settle({ ...answer, body: isWhole ? Buffer.concat(chunks).toString() : null })
          })
        })
        request.end(body)
      })
    return post(false)
  }
}

/** Does not leak the address that a name resolved to. */
function describe(error: Error): string {
  if (error instanceof AddressRefused) return error.message
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
