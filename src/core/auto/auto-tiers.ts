import type { Model } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'
import { TIERS, type Tier } from './tiers.ts'

/** The models that `auto` may choose, in order of preference. */
export interface AutoTiers {
  tiers: Record<Tier, readonly Model[]>
  /** Old and very expensive models: only for a request that no other model can take. */
  lastResorts: readonly Model[]
  /** For a model, the newer and cheaper models of its line. */
  betterBuys: ReadonlyMap<Model, readonly Model[]>
}

/** A model with a smaller window is of an older generation; `auto` uses it only if there is no other. */
const USUAL_CONTEXT_TOKENS = 32_000
/** A more expensive model must be requested by name: USD per million tokens, three of prompt to one of completion. */
const DEAREST_USD = 25
/**
 * Prices from which a model is in the second, third and fourth tier: the gaps in the line-ups of the large vendors.
 * Constant, so that a new model in a large catalog does not move others.
 */
const TIERS_FROM_USD = [0.3, 1.2, 5]
/** The price assumed for free models on the ratio scale. */
const CHEAPEST_USD = 0.02
/** The strongest tier for a model that its maker calls small, whatever its price. */
const STRONGEST_SMALL = TIERS.indexOf('standard')
const LONG_CONTEXT_TOKENS = 200_000

const PICO_PER_USD_PER_MILLION = 1_000_000

/** The tiers of a catalog's ladder. Computed once for each snapshot. */
export const autoTiers = oncePer(buildTiers)

/**
 * Sorts models into tiers by price, the only sign of strength that every model has. Within a tier, current general
 * models come before old, special and unfinished ones; then models with more signs of a strong and maintained model;
 * then the cheaper. A model that the catalog assigns to a tier comes first in it.
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

/** A model that the catalog assigns to a tier is the operator's choice and is never superseded. */
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

/** A model with its sort criteria. */
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
      // A small model at the price of a large one does not lead a tier.
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

/** The tier of a price: by the constant bounds if each tier then has a model; otherwise by four bands of equal ratio. */
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

/** Derives from the names of a catalog's models which of them are old. Variants supersede nothing. */
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
     * Whether a newer model of its line exists; for a model named by its size, a newer one of the vendor that costs no
     * more.
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

/** A vendor with this many models in the catalog counts as established. */
const ESTABLISHED_VENDOR_MODELS = 10
const ESTABLISHED_VENDOR_MERITS = 2

/** Number of signs that a model is strong and maintained. Each one alone says little. */
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
