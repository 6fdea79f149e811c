/** What an effort of so much is called, by how many qualities a model has. */
const EFFORTS: Record<3 | 5, Readonly<Record<string, number>>> = {
  3: { low: 16, medium: 48, high: 96 },
  5: { low: 16, medium: 24, high: 48, xhigh: 64, max: 96 },
}

const PIXELS_AROUND = 2_000_000
const PIXELS_PER_CELL = 4_000_000

/**
 * Tokens of an image as the maker of the models that are priced by them counts; null if there is no such quality. `auto`
 * is medium. Source: the prices in the shipped catalog, all of which this formula gives.
 */
export function imageTokens(
  qualities: 3 | 5,
  quality: unknown,
  { width, height }: { width: number; height: number },
): number | null {
  const name = quality === undefined || quality === 'auto' ? 'medium' : String(quality)
  const effort = Object.hasOwn(EFFORTS[qualities], name) ? EFFORTS[qualities][name]! : null
  if (effort === null) return null
  const [short, long] = width < height ? [width, height] : [height, width]
  const rows = Math.round((effort * short) / long)
  return Math.ceil((effort * rows * (PIXELS_AROUND + width * height)) / PIXELS_PER_CELL)
}
