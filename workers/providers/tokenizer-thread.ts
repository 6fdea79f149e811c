import { parentPort } from 'node:worker_threads'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

/**
 * The tokenizer, in a thread of its own: loading its vocabulary and counting a long text each take a while,
 * in which the calls of this process must not stand still. Hears {id, text}, says {id, tokens}.
 */

/** Long runs without a space cost the tokenizer their square, so texts are counted in pieces of this size. */
const PIECE_CHARS = 2_000

/** What looks like a special token in a text is text. */
const NO_SPECIALS = { disallowedSpecial: new Set<string>() }

parentPort?.on('message', ({ id, text }: { id: number; text: string }) => {
  let tokens = 0
  for (let start = 0; start < text.length; ) {
    const end = pieceEnd(text, start)
    tokens += countTokens(text.slice(start, end), NO_SPECIALS)
    start = end
  }
  parentPort?.postMessage({ id, tokens })
})

/** Cut before a space where there is one in the second half, so that hardly a token is split. */
function pieceEnd(text: string, start: number): number {
  const end = start + PIECE_CHARS
  if (end >= text.length) return text.length
  const space = Math.max(text.lastIndexOf(' ', end), text.lastIndexOf('\n', end))
  return space > start + PIECE_CHARS / 2 ? space : end
}
