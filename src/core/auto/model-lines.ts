/**
 * The position of a model in its vendor's line-up, derived from its id. Catalogs have no release dates, but makers
 * number their models: of two names that differ only in the number, the higher is the newer.
 */
export interface ModelLine {
  /** The name without version, date and generic words: the same for every generation of one product. */
  line: string
  /** The first word, under which a vendor numbers its generations. */
  root: string
  /** The parts of the version, the first with its decimals; empty if the name has none. */
  version: readonly number[]
  /** A preview, an alias, a dated copy, a faster edition, a fine-tune, or a model for one kind of work. */
  isVariant: boolean
  /** Its maker calls it small, or it has few parameters. */
  isSmall: boolean
  /** Named by its number of parameters, not as a product. */
  isSized: boolean
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const UNFINISHED = 'preview exp experimental alpha beta nightly labs'
const ALIASES = 'latest default'
const EDITIONS =
  'fast turbo highspeed lightning ultraspeed prime x airx flashx instant free extended fp8 non nonreasoning'
const SPECIALIZED =
  'code coder codex codestral devstral build search research deep agent multi vision vl omni audio voxtral pixtral ocr speech tts mt translate math prover law legal fin finance sante med medical cyber security guard safety rp her character distill robotics cosmos phone computer'
const VARIANT_WORDS = words(`${UNFINISHED} ${ALIASES} ${EDITIONS} ${SPECIALIZED}`)
const SILENT_WORDS = words('instruct chat it base thinking reasoning hybrid')
const SMALL_WORDS = words('nano micro tiny lite mini small flash air edge')

/** Open models that others fine-tune, and their makers. */
const TUNED_BASES = Object.entries({
  llama: 'meta-llama',
  l3: 'meta-llama',
  qwen: 'qwen',
  mistral: 'mistralai',
  mixtral: 'mistralai',
  gemma: 'google',
})

const DATE =
  /[-_@](?:20\d\d-[01]\d-[0-3]\d|[01]\d-20\d\d|20[2-9]\d{5}|2[3-9][01]\d[0-3]\d|[0-3]\d-[0-3]\d|[0-3]\d{3})(?=[-_:@]|$)/
const PARAMETERS = /^[ae]?(\d+(?:\.\d+)?)([bt])$/
const VERSION = /^([a-z]*?)(\d{1,2}(?:\.\d+)*)o?$/
const SMALL_BILLIONS = 40

/** Parses an id, with or without its vendor. Never fails: an unknown name is its own line. */
export function modelLine(id: string, vendor: string): ModelLine {
  const name = id.slice(id.lastIndexOf('/') + 1).toLowerCase()
  const undated = name.replace(DATE, '')
  const kept: string[] = []
  const version: number[] = []
  let isVariant = undated !== name
  let isSmall = false
  let isSized = false
  for (const token of undated.split(/[-_:@]/)) {
    const parameters = PARAMETERS.exec(token)
    const numbered = VERSION.exec(token)
    if (parameters) {
      isSized = true
      // Skips the number of active parameters, which follows the total.
      if (token.startsWith('a')) continue
      isSmall ||= billions(parameters) < SMALL_BILLIONS
      kept.push(token)
      continue
    }
    if (numbered) version.push(...versionOf(numbered[2]!))
    const word = numbered ? numbered[1]! : token
    if (word === '' || word === 'v' || SILENT_WORDS.has(word)) continue
    kept.push(word)
    isVariant ||= VARIANT_WORDS.has(word)
    isSmall ||= SMALL_WORDS.has(word)
  }
  isVariant ||= TUNED_BASES.some(([base, maker]) => maker !== vendor && name.includes(base))
  return { line: kept.join(' '), root: kept[0] ?? '', version, isVariant, isSmall, isSized }
}

const billions = (parameters: RegExpExecArray): number =>
  Number(parameters[1]) * (parameters[2] === 't' ? 1_000 : 1)

/** "4.20" is 4.2 and older than 4.3, because makers count in decimals. */
function versionOf(text: string): number[] {
  const [major, minor, ...rest] = text.split('.')
  return [Number(minor === undefined ? major : `${major}.${minor}`), ...rest.map(Number)]
}

/** Negative if the first version is older; a version without parts is the oldest. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? -1) - (b[index] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}
