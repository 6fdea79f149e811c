import facts from './vocabulary-facts.json' with { type: 'json' }

/**
 * Common properties of the vocabularies of chat models, as computed from them (decision 34).
 *
 * For every three characters of a word (0: a space, or none; 1 to 26: the letters), at `(a * 27 + b) * 27 + c`,
 * which neighbours some vocabulary leaves: 1: `b|c`, 2: `ab|c`, 4: `a|bc`.
 */
export const SPLITS: Uint8Array = unpackNibbles(facts.splits)

/** Non-ASCII UTF-16 code units that every vocabulary has as one token, or as two for three bytes. */
export const COMMON_CHARACTERS: ReadonlySet<number> = new Set(
  Array.from(facts.characters, (character) => character.charCodeAt(0)),
)

const WORDS = wordTree(facts.words.split(' '))

/** Whether a run of lower-case letters is one token in every vocabulary, together with the space before it. */
export function isCommonWord(text: string, start: number, end: number): boolean {
  let node = 27
  for (let index = start; index < end && node > 0; index++) node = WORDS[node + text.charCodeAt(index) - 96]!
  return WORDS[node] === 1
}

/** Nodes of 27 entries: whether a word ends here, then the offset of the next node by letter. Node 0 is empty. */
function wordTree(words: readonly string[]): Int32Array {
  const tree = new Int32Array(27 * (2 + words.join('').length))
  let size = 2 * 27
  for (const word of words) {
    let node = 27
    for (let index = 0; index < word.length; index++) {
      const place = node + word.charCodeAt(index) - 96
      if (tree[place] === 0) {
        tree[place] = size
        size += 27
      }
      node = tree[place]!
    }
    tree[node] = 1
  }
  return tree.slice(0, size)
}

function unpackNibbles(base64: string): Uint8Array {
  const bytes = Buffer.from(base64, 'base64')
  const table = new Uint8Array(2 * bytes.length)
  for (const [index, byte] of bytes.entries()) {
    table[2 * index] = byte & 15
    table[2 * index + 1] = byte >> 4
  }
  return table
}
