/** The hash of a word before its first letter (FNV-1a, 32 bits). */
export const EMPTY_WORD = 0x811c9dc5 | 0

/** The hash of a word with one more UTF-16 code unit. */
export const extendWord = (hash: number, code: number): number => Math.imul(hash ^ code, 0x01000193)

/** The hash of a whole word, in lower case already. */
export function hashWord(word: string): number {
  let hash = EMPTY_WORD
  for (let index = 0; index < word.length; index++) hash = extendWord(hash, word.charCodeAt(index))
  return hash
}

/** The place of a word in a table of 2^bits slots; every bit of the hash counts (MurmurHash3's finalizer). */
export function slotOf(hash: number, bits: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  mixed ^= mixed >>> 16
  return (mixed >>> 0) & ((1 << bits) - 1)
}

/** Words that indicate the kind of work; the commonest ones in the larger European languages too. */
const CUE_WORDS = {
  reason:
    'why explain prove proof derive show justify analyze analyse demonstrate deduce infer reason reasoning argue discuss evaluate compare contrast critique warum erkläre beweise zeige begründe pourquoi explique démontre prouve expliquez explica demuestra porque spiega dimostra explicar provar 证明 解释 推理 为什',
  compute:
    'calculate compute find determine solve evaluate estimate integrate differentiate simplify approximate minimize maximize optimize optimise berechne bestimme löse calcule trouve résous calcula halla encuentra resuelve calcola trova 计算 求解',
  logic:
    'if then suppose assume let given implies therefore hence iff unless whenever satisfies satisfying such wenn falls sei soit supposons',
  quantity:
    'many much total each every per twice half times percent percentage average sum difference product ratio rate remaining left altogether double triple more less fewer than cost costs price pay paid',
  negation: 'not except never least neither nor none cannot without false incorrect',
  statement: 'statement statements following true above both correct best most likely',
  define: 'called known term refers defined definition means name named type kind example',
  narrative: 'who whom whose when where was did',
  what: 'what which is are',
  code: 'function return def class import print code python javascript java rust sql implement implementation algorithm array string list int bug compile compiler runtime program loop const var self null regex api thread async debug fix refactor typescript query database server mutex concurrent endpoint struct recursion 代码 函数 算法 编写',
  mathematics:
    'integral derivative matrix vector equation polynomial prime integer integers triangle circle angle probability function real complex group ring field graph set sequence theorem converges limit modulo coordinates radius perimeter area volume root irrational congruent lemma inequality infinitely eigenvalue gleichung primzahl wurzel funktion équation racine ecuación raíz 方程 积分 概率',
  science:
    'mass velocity energy force pressure temperature volume current voltage resistance electron atom molecule reaction equilibrium acid solution gas heat entropy density wavelength frequency magnetic electric acceleration moles molar',
  step: 'first second third next finally after before step steps then once until lastly zuerst dann ensuite puis luego después',
  structure: 'json table csv xml yaml schema format bullet markdown html outline template columns',
  create:
    'write story poem essay imagine letter email blog compose draft song article role act schreibe écris escribe scrivi',
  simple:
    'hello hi thanks thank please hey translate capital spell define synonym hallo danke bonjour merci hola gracias ciao 你好 谢谢 翻译',
  everyday:
    'email mail message birthday party recipe cook joke story bedtime poem song summarize summarise summary translate translation rewrite rephrase paraphrase polite friendly tone spelling typo grammar proofread greeting invitation wish gift idea ideas suggest recommend remind übersetze fasse freundlich rezept geburtstag korrigiere résume traduis anniversaire recette poli resume traduce receta cumpleaños riassumi ricetta 总结 翻译 邮件 生日',
  expert:
    'prove proof disprove derive derivation theorem lemma corollary counterexample conjecture undecidable irrational eigenvalue eigenvalues recurrence asymptotic complexity bounded integral differential stochastic topology manifold abelian isomorphic quantum lagrange lagrangian hamiltonian bayesian deadlock mutex race concurrency concurrent distributed consensus raft paxos partition linearizable idempotent sharding replication scheduler compiler parser refactor optimize optimise architecture design diagnose diagnosis contraindicated jurisdiction liability critique beweise beweis leite herleitung démontre prouve démontrer demuestra dimostra dimostrare 证明 推导 定理 死锁 架构',
  people: 'he she his her they their him john mary man woman student patient person people child',
} as const

export type Cue = keyof typeof CUE_WORDS

export const CUES = Object.keys(CUE_WORDS) as Cue[]

/** By a word's hash, its cues as bits: bit n for CUES[n]. */
export const CUE_BITS: ReadonlyMap<number, number> = cueBits()

function cueBits(): Map<number, number> {
  const bits = new Map<number, number>()
  for (const [index, cue] of CUES.entries()) {
    for (const word of CUE_WORDS[cue].split(' ')) {
      const hash = hashWord(word)
      bits.set(hash, (bits.get(hash) ?? 0) | (1 << index))
    }
  }
  return bits
}

/** The counts of one pass over a text. */
export interface TextScan {
  chars: number
  /** Occurrences of each ASCII character. */
  ascii: Uint16Array
  words: number
  letters: number
  /** Hashes of the distinct words, in order of appearance. */
  distinctWords: number[]
  /** Hashes of the distinct numbers, without separators. */
  distinctNumbers: number[]
  /** Words of nine letters and more. */
  longWords: number
  singleLetters: number
  /** Words with capitals inside, such as identifiers of programs. */
  mixedCaseWords: number
  upperCaseWords: number
  /** Capitalized words that do not start a sentence: mostly names. */
  names: number
  underscoresInWords: number
  numbers: number
  longestNumber: number
  sentences: number
  nonAscii: number
  /** Characters of scripts that are written without spaces. */
  ideographs: number
  /** Mathematical signs and Greek letters beyond ASCII. */
  mathSigns: number
  /** Distinct words of each cue, in the order of CUES. */
  cues: Uint16Array
  /** Sum of the rarities of the distinct words: 0 is the commonest, RAREST an unknown word. */
  raritySum: number
  rareWords: number
  /** The three rarest words of three letters and more, rarest first. */
  rarest: [number, number, number]
  commonWords: number
}

export const RARITY_BITS = 16
export const RAREST = 15
const RARE_FROM = 13
const COMMON_UP_TO = 5
const LONG_WORD_LETTERS = 9
/** Ideographs are counted in pairs, the usual length of a word. */
const IDEOGRAPHS_PER_WORD = 2

const LINE_FEED = 10
const UNDERSCORE = 95

/**
 * Scans a text once, character by character, without creating strings. `rarity` contains the rarity of each of
 * 2^RARITY_BITS slots of words.
 */
export function scanText(text: string, rarity: Uint8Array): TextScan {
  const scan = emptyScan(text.length)
  const word = { hash: EMPTY_WORD, letters: 0, capitals: 0, innerCapitals: 0, ideographs: 0 }
  const seen = new Set<number>()
  let digits = 0
  let numberHash = EMPTY_WORD
  let startsSentence = true

  const endWord = () => {
    if (digits > 0) {
      scan.numbers++
      scan.longestNumber = Math.max(scan.longestNumber, digits)
      if (!seen.has(numberHash)) {
        seen.add(numberHash)
        scan.distinctNumbers.push(numberHash)
      }
      digits = 0
      numberHash = EMPTY_WORD
    }
    if (word.letters === 0) return
    countWord(scan, word, startsSentence)
    startsSentence = false
    if (!seen.has(word.hash)) {
      seen.add(word.hash)
      countDistinct(scan, word.hash, word.letters, rarity)
    }
    word.hash = EMPTY_WORD
    word.letters = word.capitals = word.innerCapitals = word.ideographs = 0
  }

  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 128) {
      scan.ascii[code]!++
      const lower = code | 32
      if (lower >= 97 && lower <= 122) {
        if (digits > 0 || word.ideographs > 0) endWord()
        if (code < 97) {
          word.capitals++
          if (word.letters > 0) word.innerCapitals++
        }
        word.hash = extendWord(word.hash, lower)
        word.letters++
      } else if (code >= 48 && code <= 57) {
        if (word.letters > 0) endWord()
        numberHash = extendWord(numberHash, code)
        digits++
      } else if (!(digits > 0 && isSeparatorInNumber(code, text.charCodeAt(index + 1)))) {
        if (code === UNDERSCORE && word.letters > 0) scan.underscoresInWords++
        endWord()
        if (endsSentence(code, text.charCodeAt(index + 1))) {
          scan.sentences++
          startsSentence = true
        }
        if (code === LINE_FEED) startsSentence = true
      }
      continue
    }
    scan.nonAscii++
    if (isMathSign(code)) {
      scan.mathSigns++
      endWord()
    } else if (isIdeograph(code)) {
      if (digits > 0 || word.ideographs === 0) endWord()
      scan.ideographs++
      word.hash = extendWord(word.hash, code)
      word.letters++
      if (++word.ideographs === IDEOGRAPHS_PER_WORD) endWord()
    } else if (isLetter(code)) {
      if (digits > 0 || word.ideographs > 0) endWord()
      word.hash = extendWord(word.hash, code)
      word.letters++
    } else {
      endWord()
      if (code === 0x3002 || code === 0xff1f) scan.sentences++
    }
  }
  endWord()
  return scan
}

const emptyScan = (chars: number): TextScan => ({
  chars,
  ascii: new Uint16Array(128),
  words: 0,
  letters: 0,
  distinctWords: [],
  distinctNumbers: [],
  longWords: 0,
  singleLetters: 0,
  mixedCaseWords: 0,
  upperCaseWords: 0,
  names: 0,
  underscoresInWords: 0,
  numbers: 0,
  longestNumber: 0,
  sentences: 0,
  nonAscii: 0,
  ideographs: 0,
  mathSigns: 0,
  cues: new Uint16Array(CUES.length),
  raritySum: 0,
  rareWords: 0,
  rarest: [0, 0, 0],
  commonWords: 0,
})

function countWord(
  scan: TextScan,
  word: { letters: number; capitals: number; innerCapitals: number },
  startsSentence: boolean,
): void {
  const { letters, capitals, innerCapitals } = word
  scan.words++
  scan.letters += letters
  if (letters >= LONG_WORD_LETTERS) scan.longWords++
  if (letters === 1) scan.singleLetters++
  else if (capitals === letters) scan.upperCaseWords++
  if (innerCapitals > 0 && capitals < letters) scan.mixedCaseWords++
  if (capitals > innerCapitals && !startsSentence && letters > 1) scan.names++
}

function countDistinct(scan: TextScan, hash: number, letters: number, rarity: Uint8Array): void {
  scan.distinctWords.push(hash)
  const cues = CUE_BITS.get(hash) ?? 0
  if (cues !== 0) for (let bit = 0; bit < scan.cues.length; bit++) if (cues & (1 << bit)) scan.cues[bit]!++
  const rare = rarity[slotOf(hash, RARITY_BITS)]!
  scan.raritySum += rare
  if (rare <= COMMON_UP_TO) scan.commonWords++
  if (letters < 3) return
  if (rare >= RARE_FROM) scan.rareWords++
  const top = scan.rarest
  if (rare > top[0]) scan.rarest = [rare, top[0], top[1]]
  else if (rare > top[1]) scan.rarest = [top[0], rare, top[1]]
  else if (rare > top[2]) top[2] = rare
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** 1,000 and 3.14 are one number each. */
const isSeparatorInNumber = (code: number, next: number): boolean =>
  (code === 44 || code === 46) && isDigit(next)

/** A full stop, question or exclamation mark before white space or the end (whose code is NaN). */
const endsSentence = (code: number, next: number): boolean =>
  (code === 46 || code === 63 || code === 33) && !(next > 32)

const isMathSign = (code: number): boolean =>
  (code >= 0x2200 && code <= 0x22ff) ||
  (code >= 0x391 && code <= 0x3c9) ||
  (code >= 0xb0 && code <= 0xb3) ||
  code === 0xd7 ||
  code === 0xf7

const isIdeograph = (code: number): boolean => code >= 0x3040 && code <= 0xd7ff

const isLetter = (code: number): boolean =>
  code >= 0xc0 && !(code >= 0x2000 && code <= 0x303f) && code < 0xfe00
