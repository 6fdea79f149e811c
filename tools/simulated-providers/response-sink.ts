import type { ServerResponse } from 'node:http'
import { constants, createGzip } from 'node:zlib'

/** Where the bytes of a response go: the HTTP response, a gzip stream over it, or the bare socket. */
export interface ResponseSink {
  head(status: number, headers: Record<string, string>): void
  /** Puts the headers on the wire although no body follows yet. */
  flushHead(): void
  write(data: string | Buffer): void
  end(data: string): void
  /** Resolves when everything written so far has been handed to the operating system. */
  flushed(): Promise<void>
}

/** Bytes as they are. */
export function plainSink(response: ServerResponse): ResponseSink {
  return {
    head: (status, headers) => {
      response.writeHead(status, headers)
    },
    flushHead: () => {
      if (response.headersSent) response.flushHeaders()
    },
    write: (data) => {
      response.write(data)
    },
    end: (data) => {
      response.end(data)
    },
    flushed: () =>
      response.headersSent
        ? new Promise((resolve) => response.write('', () => setImmediate(resolve)))
        : Promise.resolve(),
  }
}

/** One gzip member, flushed after every write, as a compressing proxy in front of a provider does. */
export function gzipSink(response: ServerResponse): ResponseSink {
  const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH })
  gzip.pipe(response)
  return {
    ...plainSink(response),
    head: (status, headers) => {
      response.writeHead(status, { ...headers, 'content-encoding': 'gzip' })
    },
    write: (data) => {
      gzip.write(data)
    },
    end: (data) => {
      gzip.end(data)
    },
    flushed: () => new Promise((resolve) => gzip.flush(() => setImmediate(resolve))),
  }
}

/** After headers written by hand: a body that ends with the connection. */
export function rawSink(response: ServerResponse): ResponseSink {
  const { socket } = response
  return {
    head: () => undefined,
    flushHead: () => undefined,
    write: (data) => {
      socket?.write(data)
    },
    end: (data) => {
      socket?.end(data)
    },
    flushed: () => new Promise((resolve) => socket?.write('', () => setImmediate(resolve))),
  }
}
