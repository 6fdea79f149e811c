import { isCommonWord, SPLITS } from './vocabulary-facts.ts'

const APOSTROPHE = 39
/** No such split; far below any count. */
const NONE = -0x20000000

/**
 * Maximum tokens of a run of lower-case letters, together with the last space before it.
 * @param after what precedes the word: one space, several, or something else
 */
export function lowerCaseWordBound(
  text: string,
  start: number,
  end: number,
  after: 'space' | 'spaces' | 'other',
): number {
  if (after === 'space' && endsWord(text, end) && isCommonWord(text, start, end)) return 1
  return longestCut(text, start, end, after !== 'other')
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
