import { diffLines } from 'diff'

export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'gap'
  text: string
}

/** Unchanged lines shown around a change. */
const AROUND = 3

/** What is different between two texts, line by line; long unchanged parts become a gap. Empty: nothing is. */
export function documentDiff(before: string, after: string): DiffLine[] {
  const parts = diffLines(`${before}\n`, `${after}\n`)
  if (parts.every(({ added, removed }) => !added && !removed)) return []
  return parts.flatMap(({ added, removed, value }, index) => {
    const lines = value.split('\n').slice(0, -1)
    if (added || removed)
      return lines.map((text) => ({ kind: added ? 'added' : 'removed', text }) as DiffLine)
    return shorten(lines, { isFirst: index === 0, isLast: index === parts.length - 1 })
  })
}

function shorten(lines: string[], at: { isFirst: boolean; isLast: boolean }): DiffLine[] {
  const same = (text: string): DiffLine => ({ kind: 'same', text })
  const head = at.isFirst ? 0 : AROUND
  const tail = at.isLast ? 0 : AROUND
  const left = lines.length - head - tail
  if (left <= 1) return lines.map(same)
  const gap: DiffLine = { kind: 'gap', text: `… ${left} lines unchanged` }
  return [...lines.slice(0, head).map(same), gap, ...lines.slice(lines.length - tail).map(same)]
}
