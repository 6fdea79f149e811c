/** What one setting of a policy costs and achieves in the mean. */
export interface CostPoint {
  usd: number
  quality: number
}

/** The best quality that settings and mixtures of two reach for this cost; 0 if none is so cheap. */
export function qualityAt(points: readonly CostPoint[], most: number, neighbours = false): number {
  let found = 0
  for (const [at, a] of points.entries()) {
    if (a.usd > most) continue
    found = Math.max(found, a.quality)
    for (const b of neighbours ? points.slice(at + 1, at + 2) : points) {
      if (b.usd <= most) continue
      const part = (most - a.usd) / (b.usd - a.usd)
      found = Math.max(found, a.quality + part * (b.quality - a.quality))
    }
  }
  return found
}
