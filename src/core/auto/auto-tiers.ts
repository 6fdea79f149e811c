import type { Model } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'

/** Strength of models, weakest first. */
export const TIERS = ['light', 'standard', 'strong', 'frontier'] as const
export type Tier = (typeof TIERS)[number]

/** The models that `auto` may choose, the one to try first first. */
export interface AutoTiers {
  tiers: Record<Tier, readonly Model[]>
  /** Old and very dear models: only for a request that no other can take. */
  lastResorts: readonly Model[]
  /** For a model, the newer ones of its line that cost less. */
  betterBuys: ReadonlyMap<Model, readonly Model[]>
}

/** Below this window a model is of an older kind; `auto` uses it only where there is no other. */
const USUAL_CONTEXT_TOKENS = 32_000
/** Above this price a model is for those who name it: USD per million tokens, three of prompt to one of completion. */
const DEAREST_USD = 25
/**
 * The same price from which a model is of the second, third and fourth tier: where the line-ups of the large vendors
 * have their gaps. Fixed, so that a model added to a large catalog moves no other.
 */
const TIERS_FROM_USD = [0.3, 1.2, 5]
/** Free models stand at the cheap end of a scale of ratios. */
const CHEAPEST_USD = 0.02
/** A model that its maker calls small is no stronger than this, whatever it costs. */
const STRONGEST_SMALL = TIERS.indexOf('standard')
const LONG_CONTEXT_TOKENS = 200_000

const PICO_PER_USD_PER_MILLION = 1_000_000

/** The tiers of a catalog's ladder. Computed once for each snapshot. */
export const autoTiers = oncePer(buildTiers)

/**
 * Sorts models into tiers by price, since price is the one sign of strength that is known of every model. Within a
 * tier current general models come before old, special and unfinished ones; then those with more signs of a strong
 * and well-kept model; then the cheaper. A model that the catalog puts into a tier stands there, and before the others.
 */
function buildTiers(ladder: readonly Model[]): AutoTiers {
  const isUsual = (model: Model) =>
    model.autoTier !== undefined || (model.contextLength >= USUAL_CONTEXT_TOKENS && usd(model) <= DEAREST_USD)
  const usual = ladder.filter(isUsual)
  const places = placesOf(usual.length > 0 ? usual : ladder)
  const tiers: Record<Tier, Model[]> = { light: [], standard: [], strong: [], frontier: [] }
  for (const place of places.toSorted(compare)) tiers[place.tier].push(place.model)
  return {
    tiers,
    lastResorts: usual.length > 0 ? ladder.filter((model) => !isUsual(model)) : [],
    betterBuys: betterBuys(ladder),
  }
}

/** A model that the catalog puts into a tier is its operator's choice: nothing surpasses it. */
function betterBuys(ladder: readonly Model[]): Map<Model, Model[]> {
  const lines = new Map<string, NamedModel[]>()
  for (const model of ladder) {
    const named = { model, ...modelLine(model.id, model.vendor) }
    const key = `${model.vendor}/${named.line}`
    lines.set(key, [...(lines.get(key) ?? []), named])
  }
  const found = new Map<Model, Model[]>()
  for (const line of lines.values()) {
    for (const { model, version } of line) {
      if (model.autoTier !== undefined) continue
      const better = line.filter(
        (other) => compareVersions(other.version, version) > 0 && usd(other.model) < usd(model),
      )
      if (better.length > 0)
        found.set(
          model,
          better.map((other) => other.model),
        )
    }
  }
  return found
}

/** A model with what decides where it stands. */
interface Place {
  model: Model
  tier: Tier
  isChosen: boolean
  isCurrent: boolean
  merits: number
}

const compare = (a: Place, b: Place): number =>
  Number(b.isChosen) - Number(a.isChosen) ||
  Number(b.isCurrent) - Number(a.isCurrent) ||
  b.merits - a.merits ||
  usd(a.model) - usd(b.model) ||
  (a.model.id < b.model.id ? -1 : 1)

function placesOf(models: readonly Model[]): Place[] {
  const named = models.map((model) => ({ model, ...modelLine(model.id, model.vendor) }))
  const newest = newestVersions(named)
  const vendors = vendorSizes(models)
  const priceTier = priceTiers(models.filter((model) => model.autoTier === undefined))
  return named.map((one) => {
    const { model } = one
    const byPrice = priceTier(model)
    const place = one.isSmall ? Math.min(byPrice, STRONGEST_SMALL) : byPrice
    const isCurrent =
      !one.isVariant &&
      !newest.supersedes(one) &&
      model.supportedParameters.includes('tools') &&
      // A small model at the price of a large one leads no tier.
      place === byPrice
    return {
      model,
      tier: model.autoTier ?? TIERS[place]!,
      isChosen: model.autoTier !== undefined,
      isCurrent,
      merits: meritsOf(model, vendors.get(model.vendor)!) + Number(newest.isOfNewestGeneration(one)),
    }
  })
}

/** The tier of a price: by the fixed bounds where some model stands in each; else by four bands of equal ratio. */
function priceTiers(models: readonly Model[]): (model: Model) => number {
  const byBounds = (model: Model) => TIERS_FROM_USD.filter((bound) => usd(model) >= bound).length
  if (new Set(models.map(byBounds)).size === TIERS.length) return byBounds
  const log = (model: Model) => Math.log(Math.max(CHEAPEST_USD, usd(model)))
  const logs = models.map(log)
  const least = Math.min(...logs)
  const span = Math.max(...logs) - least || 1
  return (model) => Math.min(TIERS.length - 1, Math.floor((TIERS.length * (log(model) - least)) / span))
}

type NamedModel = ModelLine & { model: Model }

/** What the names of a catalog's models tell of which of them are old. Variants make nothing old. */
function newestVersions(models: readonly NamedModel[]) {
  const lineOf = ({ model, line }: NamedModel) => `${model.vendor}/${line}`
  const rootOf = ({ model, root }: NamedModel) => `${model.vendor}/${root}`
  const byLine = new Map<string, readonly number[]>()
  const byRoot = new Map<string, NamedModel[]>()
  for (const one of models) {
    if (one.isVariant) continue
    if (compareVersions(one.version, byLine.get(lineOf(one)) ?? []) > 0) byLine.set(lineOf(one), one.version)
    byRoot.set(rootOf(one), [...(byRoot.get(rootOf(one)) ?? []), one])
  }
  const relatives = (one: NamedModel) => byRoot.get(rootOf(one)) ?? []
  const isNewer = (a: NamedModel, b: NamedModel) => compareVersions(a.version, b.version) > 0
  const generation = ({ version }: NamedModel) => Math.floor(version[0] ?? 0)
  return {
    /**
     * There is a newer one of its line; or, of a model that is known by its size alone, a newer one of the vendor's
     * that costs no more.
     */
    supersedes: (one: NamedModel) =>
      compareVersions(one.version, byLine.get(lineOf(one)) ?? []) < 0 ||
      (one.isSized &&
        relatives(one).some((other) => isNewer(other, one) && usd(other.model) <= usd(one.model))),
    isOfNewestGeneration: (one: NamedModel) =>
      relatives(one).every((other) => generation(other) <= generation(one)),
  }
}

/** Mean list price in USD per million tokens, three of prompt to one of completion. */
function usd({ listPrice }: Model): number {
  return Number(listPrice.prompt * 3n + listPrice.completion) / 4 / PICO_PER_USD_PER_MILLION
}

function vendorSizes(models: readonly Model[]): Map<string, number> {
  const sizes = new Map<string, number>()
  for (const { vendor } of models) sizes.set(vendor, (sizes.get(vendor) ?? 0) + 1)
  return sizes
}

/** A vendor with so many models in the catalog is no obscure one. */
const ESTABLISHED_VENDOR_MODELS = 10
const ESTABLISHED_VENDOR_MERITS = 2

/** Signs that a model is strong, well kept and no obscure one: none alone says much. */
function meritsOf(model: Model, modelsOfVendor: number): number {
  const providers = new Set(model.offers.filter((offer) => offer.shared).map((offer) => offer.provider.id))
  const signs = [
    model.reasoning,
    model.contextLength >= LONG_CONTEXT_TOKENS,
    model.inputModalities.includes('image'),
    providers.size > 1,
  ].filter(Boolean).length
  return signs + (modelsOfVendor >= ESTABLISHED_VENDOR_MODELS ? ESTABLISHED_VENDOR_MERITS : 0)
}

/**
 * What a model's id tells of its place in its vendor's line-up. Catalogs hold no release dates, but makers number
 * their models: of two whose names differ in the number only, the higher is the newer.
 */
export interface ModelLine {
  /** The name without version, date and words that say nothing: the same for every generation of one product. */
  line: string
  /** The first word: what the generations of a vendor are numbered under. */
  root: string
  /** The version's parts, the first with its decimals; empty where the name has none. */
  version: readonly number[]
  /** A preview, an alias, a dated copy, a faster edition, a fine-tune, or made for one kind of work. */
  isVariant: boolean
  /** Its maker calls it small, or it has few parameters. */
  isSmall: boolean
  /** Named by how many parameters it has, not as a product. */
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

/** Open models that others tune, and who makes them. */
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

/** Reads an id, with or without its vendor. Never fails: a name that says nothing is a line of its own. */
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
      // How many parameters are active is told beside how many there are, or not at all.
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

/** "4.20" is 4.2 and older than 4.3: makers count in decimals. */
function versionOf(text: string): number[] {
  const [major, minor, ...rest] = text.split('.')
  return [Number(minor === undefined ? major : `${major}.${minor}`), ...rest.map(Number)]
}

/** Below 0 where the first version is the older; one without parts is older than any. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? -1) - (b[index] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}
