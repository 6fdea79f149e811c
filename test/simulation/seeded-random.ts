/** Random decisions that a seed determines (mulberry32). */
export class SeededRandom {
  private state: number

  constructor(seed: number) {
    this.state = seed
  }

  /** Uniform in [0, 1). */
  readonly unit = (): number => {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.unit() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.unit() < probability
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.unit() * items.length)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }
}
