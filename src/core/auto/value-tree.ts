/**
 * Models of a ladder by dominance: a parent is at least as good as its children and no dearer in any price, so no prompt
 * and no price of a point values a child above it. Descending from the roots finds the best models without looking at
 * all of them.
 */
export interface ValueTree {
  roots: readonly number[]
  children: ReadonlyMap<number, readonly number[]>
}

/** Builds the tree of the models with these indexes. Each column of `prices` has one price of every model. */
export function valueTree(
  indexes: readonly number[],
  ability: Float64Array,
  prices: readonly Float64Array[],
): ValueTree {
  const compare = (a: number, b: number) => {
    for (const column of prices) if (column[a]! !== column[b]!) return column[a]! - column[b]!
    return a - b
  }
  const dominates = (a: number, b: number) => prices.every((column) => column[a]! <= column[b]!)
  const roots: number[] = []
  const children = new Map<number, number[]>()
  // A model's dominators come before it.
  for (const index of indexes.toSorted((a, b) => ability[b]! - ability[a]! || compare(a, b))) {
    let level = roots
    for (;;) {
      const parent = level.find((other) => dominates(other, index))
      if (parent === undefined) break
      const below = children.get(parent) ?? []
      children.set(parent, below)
      level = below
    }
    level.push(index)
  }
  return { roots, children }
}

/** All models of a tree from the highest value down; `valueAt` must never be higher for a child than for its parent. */
export function* inOrderOfValue(
  { roots, children }: ValueTree,
  valueAt: (index: number) => number,
): Generator<number> {
  const open = roots.map((index) => ({ index, value: valueAt(index) }))
  while (open.length > 0) {
    let best = 0
    for (let at = 1; at < open.length; at++) if (open[at]!.value > open[best]!.value) best = at
    const { index } = open[best]!
    const last = open.pop()!
    if (best < open.length) open[best] = last
    for (const child of children.get(index) ?? []) open.push({ index: child, value: valueAt(child) })
    yield index
  }
}
