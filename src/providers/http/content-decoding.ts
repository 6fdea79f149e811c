import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

/** Undoes a content-encoding as bytes come in. */
export interface ContentDecoder {
  write(chunk: Buffer): void
  end(): void
  destroy(): void
}

export interface DecodedContent {
  data(chunk: Buffer): void
  end(): void
  failure(error: Error): void
}

/**
 * A streaming decoder for a content-encoding; `identity` where there is nothing to undo, `unsupported` for
 * one that we never asked for and cannot read. We ask for identity, but some providers compress regardless.
 */
export function createContentDecoder(
  encoding: string | undefined,
  output: DecodedContent,
): ContentDecoder | 'identity' | 'unsupported' {
  switch (encoding?.trim().toLowerCase() || 'identity') {
    case 'identity':
      return 'identity'
    case 'gzip':
    case 'x-gzip':
      return connect(createGunzip(), output)
    case 'br':
      return connect(createBrotliDecompress(), output)
    case 'deflate':
      return deflateDecoder(output)
    default:
      return 'unsupported'
  }
}

type Zlib = ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>

function connect(stream: Zlib, output: DecodedContent): ContentDecoder {
  stream.on('data', (chunk: Buffer) => output.data(chunk))
  stream.on('end', () => output.end())
  stream.on('error', (error) => output.failure(error))
  return {
    write: (chunk) => void stream.write(chunk),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  }
}

/** `deflate` is zlib by the standard and raw deflate from some servers; the first byte tells. */
function deflateDecoder(output: DecodedContent): ContentDecoder {
  let decoder: ContentDecoder | undefined
  return {
    write(chunk) {
      if (chunk.length === 0) return
      const isZlib = (chunk[0]! & 0x0f) === 0x08
      decoder ??= connect(isZlib ? createInflate() : createInflateRaw(), output)
      decoder.write(chunk)
    },
    end() {
      if (decoder) decoder.end()
      else output.end()
    },
    destroy: () => decoder?.destroy(),
  }
}
