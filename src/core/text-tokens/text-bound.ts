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
 * and a digest takes a fraction of the time of a bound.
 */
const REMEMBERED = new LRUCache<string, number>({ max: 20_000 })

/** The same for texts that follow from received bytes, by their digest, so that such a text is not even written. */
const RECEIVED = new LRUCache<string, { chars: number; bound: number }>({ max: 2_000 })

type Form = 'plain' | 'json'

/**
 * Creates a function that bounds texts in sequence: it scans two million characters in total, and assumes the maximum
 * for the rest. `received` bounds the text that is written from these bytes alone.
 */
export function createTextBound() {
  let charsLeft = READ_CHARS_MAX
  const boundOf = (text: string, form: Form = 'plain'): number => {
    const read = text.slice(0, charsLeft)
    charsLeft -= read.length
    const unitMax = form === 'json' ? ESCAPE_BYTES_MAX : UNIT_BOUND_MAX
    return rememberedBound(read, form) + (text.length - read.length) * unitMax
  }
  const received = (bytes: Uint8Array, write: () => string): number => {
    const key = hash('sha256', bytes, 'base64')
    const known = RECEIVED.get(key)
    if (known && known.chars <= charsLeft) {
      charsLeft -= known.chars
      return known.bound
    }
    const text = write()
    const isRead = text.length <= charsLeft
    const bound = boundOf(text)
    if (isRead) RECEIVED.set(key, { chars: text.length, bound })
    return bound
  }
  return Object.assign(boundOf, { received })
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
 * One pass over its code units. For the bound of ordinary text, and its margin for
 * unpublished vocabularies, see `docs/decisions/0005-hold-is-a-bound.md`.
 */
export function textTokensBound(text: string): number {
  const units = unitsOf(text)
  const { length } = text
  let tokens = 0
  let index = 0
  while (index < length) {
    const code = units[index]!
    let after: Before = OTHER
    if (code === SPACE) {
      const start = index++
      while (units[index] === SPACE) index++
      // The last space of a run merges with the following text; the earlier ones are separate tokens.
      const runLength = index - start - 1
      if (runLength > 0) tokens += 1 + (runLength - 1) / SPACES_PER_TOKEN
      if (!isLowerCase(units[index]!)) {
        tokens++
        continue
      }
      after = runLength > 0 ? SPACES : ONE_SPACE
    } else if (!isLowerCase(code)) {
      tokens += isSurrogate(code) ? surrogateBound(units, index) : BOUNDS[code]!
      index++
      continue
    }
    const start = index
    // Its first and next six letters, in five bits each.
    let head = 0
    let tail = 0
    for (let letter = units[index]!; isLowerCase(letter); letter = units[++index]!) {
      if (index - start < PACKED_LETTERS) head = (head << 5) | (letter - 96)
      else tail = (tail << 5) | (letter - 96)
    }
    tokens += wordBound(units, start, index, head, tail, after)
  }
  return Math.ceil(tokens)
}

const PACKED_LETTERS = 6
/** What precedes a word: a space that is the only one or the last of several, or something else. */
type Before = typeof OTHER | typeof SPACES | typeof ONE_SPACE
const OTHER = 0
const SPACES = 1
const ONE_SPACE = 2

const SHORT_UNITS = 128 * 1024
const SHORT = new Uint16Array(SHORT_UNITS)

/** The UTF-16 code units of a text and a 0, valid until the next call: reading a string by its characters takes four times as long. */
function unitsOf(text: string): Uint16Array {
  const units = text.length < SHORT_UNITS ? SHORT : new Uint16Array(text.length + 1)
  Buffer.from(units.buffer).write(text, 'utf16le')
  units[text.length] = 0
  return units
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

/** Token bound of the surrogate at an index. A pair counts at its first unit. */
function surrogateBound(units: Uint16Array, index: number): number {
  const code = units[index]!
  if (code >= 0xdc00) return index > 0 && isHigh(units[index - 1]!) ? 0 : REPLACEMENT_BYTES
  const low = units[index + 1]!
  if (!isLow(low)) return REPLACEMENT_BYTES
  return LENGTHENED.get(0x10000 + ((code - 0xd800) << 10) + low - 0xdc00) ?? 4
}

const isSurrogate = (code: number) => (code & 0xf800) === 0xd800
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

/** Maximum tokens of a word, together with the last space before it. */
function wordBound(
  units: Uint16Array,
  start: number,
  end: number,
  head: number,
  tail: number,
  before: Before,
): number {
  const after = before === ONE_SPACE && !endsWord(units[end]!) ? SPACES : before
  if (end - start > 2 * PACKED_LETTERS) return computedBound(units, start, end, after)
  const place = (Math.imul(head, 0x9e3779b1) ^ Math.imul(tail, 0x85ebca6b)) >>> (32 - KNOWN_WORDS_BITS)
  const slot = 3 * place + after
  if (KNOWN_HEADS[place] !== head || KNOWN_TAILS[place] !== tail) {
    KNOWN_HEADS[place] = head
    KNOWN_TAILS[place] = tail
    KNOWN_BOUNDS[3 * place] = 0
    KNOWN_BOUNDS[3 * place + 1] = 0
    KNOWN_BOUNDS[3 * place + 2] = 0
  }
  if (KNOWN_BOUNDS[slot] === 0) KNOWN_BOUNDS[slot] = computedBound(units, start, end, after)
  return KNOWN_BOUNDS[slot]!
}

/** @param after ONE_SPACE only where the word may be a common one */
const computedBound = (units: Uint16Array, start: number, end: number, after: Before): number =>
  after === ONE_SPACE && isCommonWord(units, start, end) ? 1 : longestCut(units, start, end, after !== OTHER)

/** Whether no vocabulary has a token that begins with a word and continues with this character; 0: there is none. */
function endsWord(code: number): boolean {
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
function longestCut(units: Uint16Array, start: number, end: number, afterSpace: boolean): number {
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
    const letter = units[index]! - 96
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
function isCommonWord(units: Uint16Array, start: number, end: number): boolean {
  let node = 27
  for (let index = start; index < end && node > 0; index++) node = WORDS[node + units[index]! - 96]!
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
