import type { IncomingMessage } from 'node:http'
import { ApiError } from '../core/kernel/errors.ts'
import { GatheredBytes } from '../providers/http/gathered-bytes.ts'

export interface ReadBodyOptions {
  /** A longer body is refused with 413. */
  maxBytes: number
  /** A body that pauses for this long is refused with 408. */
  idleMs: number
  /** Called with the length of each received part; an error it throws refuses the body. */
  arrived: (bytes: number) => void
}

/**
 * Reads the bytes of a body. After a refusal the rest is read and dropped, so that the client reads the response.
 * Throws ApiError.
 */
export function readBody(payload: IncomingMessage, options: ReadBodyOptions): Promise<Buffer> {
  const { maxBytes, idleMs, arrived } = options
  const announced = payload.headers['content-length']
  if (Number(announced) > maxBytes) return Promise.reject(bodyTooLarge())
  return new Promise((resolve, reject) => {
    const gathered = new GatheredBytes()
    let length = 0
    const end = () => {
      stopTimer()
      payload.off('data', take).off('end', whole).off('error', broken).off('close', broken)
    }
    const refuse = (error: unknown) => {
      end()
      payload.on('error', () => undefined).resume()
      reject(error)
    }
    const take = (chunk: Buffer) => {
      length += chunk.length
      try {
        if (length > maxBytes) throw bodyTooLarge()
        arrived(chunk.length)
      } catch (error) {
        refuse(error)
        return
      }
      gathered.push(chunk)
    }
    const whole = () => {
      end()
      // Always a copy: a chunk is part of a buffer that the socket shares.
      resolve(gathered.take())
    }
    const broken = (cause?: unknown) =>
      refuse(new ApiError('invalid_request', 'The request body is incomplete.', { cause }))
    payload.on('data', take).on('end', whole).on('error', broken).on('close', broken)
    const stopTimer = watchProgress(payload, idleMs, () => refuse(bodyStalled(idleMs)))
  })
}

/**
 * Calls `stalled` when a body has paused for `idleMs`. Returns a function that ends the watch. Adds a `data` listener,
 * so the body must already be read.
 */
export function watchProgress(payload: IncomingMessage, idleMs: number, stalled: () => void): () => void {
  let parts = 0
  const refresh = () => {
    parts += 1
    timer.refresh()
  }
  let look: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    // While paused, the delay may be that of the store.
    if (payload.isPaused()) return refresh()
    const before = parts
    // Timers run before input that waits since this process stood still.
    look = setImmediate(() => parts === before && stalled())
  }, idleMs)
  payload.on('data', refresh)
  return () => {
    clearTimeout(timer)
    clearImmediate(look)
    payload.off('data', refresh)
  }
}

export const bodyStalled = (idleMs: number): ApiError =>
  new ApiError(
    'request_timeout',
    `No data of the request body arrived for ${Math.ceil(idleMs / 1000)} seconds. Retry the request.`,
  )

const bodyTooLarge = (): ApiError =>
  new ApiError('request_too_large', 'The request body is too large. Shorten the messages.')
