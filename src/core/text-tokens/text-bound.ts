import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import facts from './vocabulary-facts.json' with { type: 'json' }

/** Maximum characters to scan. A longer prompt fills the window of all but a few models anyway. */
const READ_CHARS_MAX = 2_000_000

/** Bytes of the longest escape in JSON, of one character. */
const ESCAPE_BYTES_MAX = 6

/** Bounding a shorter text takes no longer than its digest. */
const REMEMBERED_CHARS = 1_024
/**
 * The bounds of longer texts that were met lately, by digest. An agent sends its whole conversation again with each turn,
 * and a digest takes a tenth of the time of a bound.
 */
const REMEMBERED = new LRUCache<string, number>({ max: 20_000 })

type Form = 'plain' | 'json'

/**
 * Creates a function that bounds texts in sequence: it scans two million characters in total, and assumes the maximum
 * for the rest.
 */
export function createTextBound(): (text: string, form?: Form) => number {
  let charsLeft = READ_CHARS_MAX
  return (text, form = 'plain') => {
    const read = text.slice(0, charsLeft)
    charsLeft -= read.length
    const unitMax = form === 'json' ? ESCAPE_BYTES_MAX : UNIT_BOUND_MAX
    return rememberedBound(read, form) + (text.length - read.length) * unitMax
  }
}

function rememberedBound(text: string, form: Form): number {
  if (text.length < REMEMBERED_CHARS) return boundInForm(text, form)
  const key = `${form} ${hash('sha256', text, 'base64')}`
  const known = REMEMBERED.get(key)
  if (known !== undefined) return known
  const bound = boundInForm(text, form)
  REMEMBERED.set(key, bound)
  return bound
}

const boundInForm = (text: string, form: Form): number =>
  textTokensBound(form === 'json' ? JSON.stringify(text) : text)

const SPACE = 32
/** Number of spaces in a longer run that every vocabulary merges into one token. */
const SPACES_PER_TOKEN = 4

const isLowerCase = (code: number) => code >= 97 && code <= 122

/**
 * An upper bound of a text's tokens in every tokenizer in use (byte-pair encodings over bytes, and SentencePiece
 * with byte fallback), without running one. Neither ever produces more tokens than the text has UTF-8 bytes, so
 * bytes count wherever the vocabularies have nothing in common. Text that all of them merge counts less:
 * lower-case words, common characters of other scripts, runs of spaces.
 *
 * One pass, a few nanoseconds per character. For the bound of ordinary text, and its margin for
 * unpublished vocabularies, see `docs/decisions/0005-hold-is-a-bound.md`.
 */
export function textTokensBound(text: string): number {
  let tokens = 0
  let index = 0
  while (index < text.length) {
    const code = text.charCodeAt(index)
    const start = index++
    if (isLowerCase(code)) {
      readWord(text, start)
      tokens += wordBound(text, 'other')
      index = word.end
    } else if (code === SPACE) {
      while (index < text.length && text.charCodeAt(index) === SPACE) index++
      // The last space of a run merges with the following text; the earlier ones are separate tokens.
      const runLength = index - start - 1
      if (runLength > 0) tokens += 1 + (runLength - 1) / SPACES_PER_TOKEN
      readWord(text, index)
      tokens += word.end === index ? 1 : wordBound(text, runLength > 0 ? 'spaces' : 'space')
      index = word.end
    } else {
      tokens += code < 128 ? 1 : characterBound(text, start)
    }
  }
  return Math.ceil(tokens)
}

const PACKED_LETTERS = 6
/** The run of lower-case letters that was read last, and its first and next six letters, in five bits each. */
const word = { start: 0, end: 0, head: 0, tail: 0 }

function readWord(text: string, start: number): void {
  let end = start
  let head = 0
  let tail = 0
  // A character beyond the end would be NaN, with which the loop takes twice the time.
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (!isLowerCase(code)) break
    if (end - start < PACKED_LETTERS) head = (head << 5) | (code - 96)
    else tail = (tail << 5) | (code - 96)
  }
  word.start = start
  word.end = end
  word.head = head
  word.tail = tail
}

/**
 * Common properties of the vocabularies of chat models, as computed from them (decision 5).
 *
 * For every three characters of a word (0: a space, or none; 1 to 26: the letters), at `(a * 27 + b) * 27 + c`,
 * which neighbours some vocabulary leaves: 1: `b|c`, 2: `ab|c`, 4: `a|bc`.
 */
const SPLITS: Uint8Array = unpackNibbles(facts.splits)

/** Non-ASCII UTF-16 code units that every vocabulary has as one token, or as two for three bytes. */
const COMMON_CHARACTERS: ReadonlySet<number> = new Set(
  Array.from(facts.characters, (character) => character.charCodeAt(0)),
)

const WORDS = wordTree(facts.words.split(' '))

/** The replacement of a lone surrogate has three bytes. */
const REPLACEMENT_BYTES = 3
/** A letter composed with a combining mark has at most three bytes. */
const COMPOSED_BYTES = 3

/** By UTF-16 code unit; the surrogates' entries are unused. */
const BOUNDS = Float32Array.from({ length: 0x10000 }, (_, code) => unitBound(code))

/** Musical symbols and squared letters are the only pairs that normalize to more bytes. By code point. */
const LENGTHENED = new Map(
  [0x1d000, 0x1f000].flatMap((from) =>
    Array.from({ length: 0x400 }, (_, index): [number, number] => {
      return [from + index, normalizedBytes(String.fromCodePoint(from + index))]
    }),
  ),
)

/** Token bound of the non-ASCII UTF-16 code unit at an index. A surrogate pair counts at its first unit. */
function characterBound(text: string, index: number): number {
  const code = text.charCodeAt(index)
  if (code < 0xd800 || code > 0xdfff) return BOUNDS[code]!
  if (code >= 0xdc00) return isHigh(text.charCodeAt(index - 1)) ? 0 : REPLACEMENT_BYTES
  if (!isLow(text.charCodeAt(index + 1))) return REPLACEMENT_BYTES
  return LENGTHENED.get(text.codePointAt(index)!) ?? 4
}

const isHigh = (code: number) => code >= 0xd800 && code < 0xdc00
const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff

/** No UTF-16 code unit counts more. */
export const UNIT_BOUND_MAX = Math.max(...BOUNDS)

function unitBound(code: number): number {
  // A byte-pair encoding can split a common character if its bytes merge with those of its neighbours.
  if (COMMON_CHARACTERS.has(code)) return code < 0x800 ? 1.5 : 2
  const bytes = normalizedBytes(String.fromCharCode(code))
  return code >= 0x300 && code < 0x370 ? Math.max(bytes, COMPOSED_BYTES) : bytes
}

/** UTF-8 bytes of the longest normalization form; some tokenizers normalize first. */
function normalizedBytes(character: string): number {
  const forms = [character, character.normalize('NFC'), character.normalize('NFKC')]
  return Math.max(...forms.map((form) => Buffer.byteLength(form)))
}

const APOSTROPHE = 39
/** No such split; far below any count. */
const NONE = -0x20000000

/**
 * The bounds of words that were met lately, since most words of a text repeat and computing a bound takes four times as
 * long. Two numbers identify a word of up to twelve letters, so that no two words are confused; a word takes the place
 * of another with the same hash. Of each word three bounds, 0 if unknown: after no space, after spaces, and after one
 * where it may be a common word.
 */
const KNOWN_WORDS_BITS = 14
const KNOWN_HEADS = new Int32Array(1 << KNOWN_WORDS_BITS)
const KNOWN_TAILS = new Int32Array(1 << KNOWN_WORDS_BITS)
const KNOWN_BOUNDS = new Uint8Array(3 << KNOWN_WORDS_BITS)

/**
 * Maximum tokens of the word that was read last, together with the last space before it.
 * @param after what precedes the word: one space, several, or something else
 */
function wordBound(text: string, after: 'space' | 'spaces' | 'other'): number {
  const { start, end, head, tail } = word
  const mayBeCommon = after === 'space' && endsWord(text, end)
  if (end - start > 2 * PACKED_LETTERS) return computedBound(text, after, mayBeCommon)
  const place = (Math.imul(head, 0x9e3779b1) ^ Math.imul(tail, 0x85ebca6b)) >>> (32 - KNOWN_WORDS_BITS)
  const slot = 3 * place + (after === 'other' ? 0 : mayBeCommon ? 2 : 1)
  if (KNOWN_HEADS[place] !== head || KNOWN_TAILS[place] !== tail) {
    KNOWN_HEADS[place] = head
    KNOWN_TAILS[place] = tail
    KNOWN_BOUNDS[3 * place] = 0
    KNOWN_BOUNDS[3 * place + 1] = 0
    KNOWN_BOUNDS[3 * place + 2] = 0
  }
  if (KNOWN_BOUNDS[slot] === 0) KNOWN_BOUNDS[slot] = computedBound(text, after, mayBeCommon)
  return KNOWN_BOUNDS[slot]!
}

function computedBound(text: string, after: 'space' | 'spaces' | 'other', mayBeCommon: boolean): number {
  const { start, end } = word
  return mayBeCommon && isCommonWord(text, start, end) ? 1 : longestCut(text, start, end, after !== 'other')
}

/** Whether no vocabulary has a token that begins with a word and continues here. */
function endsWord(text: string, end: number): boolean {
  if (end === text.length) return true
  const code = text.charCodeAt(end)
  const isLetter = (code | 32) >= 97 && (code | 32) <= 122
  return code < 128 && code !== APOSTROPHE && !isLetter
}

/**
 * A byte-pair encoding leaves two tokens side by side only if it does so in a text of those two alone.
 * So a word has at most as many tokens as its longest split in which all neighbours are such pairs in some
 * vocabulary. The facts cover neighbours of three characters together; others are assumed to be possible.
 * `one`, `two` and `more` are the longest splits up to a letter whose last piece has one, two, and three or more
 * characters; `most1`, `most2` and `most3` are the longest of all, up to one, two and three characters before.
 *
 * A token may begin before the word or end after it; it counts there, so the longest split of any prefix counts.
 */
function longestCut(text: string, start: number, end: number, afterSpace: boolean): number {
  let one = afterSpace ? 1 : NONE
  let two = NONE
  let more = afterSpace ? NONE : 0
  let oneBefore = NONE
  let otherBefore = afterSpace ? 0 : NONE
  let most1 = afterSpace ? 1 : 0
  let most2 = afterSpace ? 0 : NONE
  let most3 = NONE
  let longest = 1
  let previous = 0
  let pair = 0
  for (let index = start; index < end; index++) {
    const letter = text.charCodeAt(index) - 96
    const splits = SPLITS[pair * 27 + letter]!
    let nextOne = more
    if ((splits & 1) !== 0 && one > nextOne) nextOne = one
    if ((splits & 2) !== 0 && two > nextOne) nextOne = two
    const nextTwo = (splits & 4) !== 0 && oneBefore > otherBefore ? oneBefore : otherBefore
    oneBefore = one
    otherBefore = Math.max(two, more)
    one = nextOne + 1
    two = nextTwo + 1
    if (most3 >= more) more = most3 + 1
    most3 = most2
    most2 = most1
    most1 = Math.max(one, two)
    if (more > most1) most1 = more
    if (most1 > longest) longest = most1
    pair = previous * 27 + letter
    previous = letter
  }
  return longest
}

/** Whether a run of lower-case letters is one token in every vocabulary, together with the space before it. */
function isCommonWord(text: string, start: number, end: number): boolean {
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
