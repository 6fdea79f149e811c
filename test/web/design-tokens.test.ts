import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(resolve(ROOT, path), 'utf8')
const DOC = read('docs/console.md')

/** The tokens of the console's styles by their names, without the colours of charts. */
const TOKENS = Object.fromEntries(
  [
    ...read('web/styles/tokens.css').matchAll(
      /^ {2}(--(?:text|radius|breakpoint|color|spacing)[\w-]*):([^;]+);/gm,
    ),
  ]
    .map(([, name = '', value = '']) => [name, value.trim().replaceAll(/\s+/g, ' ')] as const)
    .filter(([name]) => !name.startsWith('--color-series')),
)

test('the page of the console has each design token with its value, and no other', () => {
  const rows = [...DOC.matchAll(/^\| `(--[\w-]+)` \| `([^`]+)` \| \S/gm)]
  expect(Object.fromEntries(rows.map(([, name, value]) => [name, value]))).toEqual(TOKENS)
})

test('paddings, margins and gaps are of the one scale', () => {
  const [, listed = ''] = /multiples of the unit: ([\d., ]+)\./.exec(DOC) ?? []
  const scale = new Set(listed.split(', '))
  const sources = globSync(['web/{app,components,pages}/**/*.tsx', 'web/styles/*.css'], { cwd: ROOT })
  expect(sources.length).toBeGreaterThan(100)
  const odd = sources.flatMap((path) =>
    [...read(path).matchAll(/[\s"'`:-](?:p[xytblr]?|m[xytblr]?|gap(?:-[xy])?)-(\d+(?:\.\d+)?)(?=[\s"'`;!])/g)]
      .filter(([, step = '']) => !scale.has(step))
      .map(([name]) => `${path}: ${name.trim()}`),
  )
  expect(odd).toEqual([])
})

describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
  const colour = (name: string): string => {
    const [, light, dark] = /^light-dark\((#\w+), (#\w+)\)$/.exec(TOKENS[`--color-${name}`] ?? '') ?? []
    return (theme === 'light' ? light : dark) ?? ''
  }
  const grounds = ['page', 'surface', 'sunken']

  test.each(['ink', 'soft', 'muted', 'accent'])('text in %s has 4.5:1 on every ground', (text) => {
    for (const ground of grounds) expect(contrast(colour(text), colour(ground))).toBeGreaterThanOrEqual(4.5)
  })

  test('the edge of an input has 3:1, and is no heavier than that takes', () => {
    const contrasts = ['page', 'surface'].map((ground) => contrast(colour('line-strong'), colour(ground)))
    expect(Math.min(...contrasts)).toBeGreaterThanOrEqual(3)
    expect(Math.min(...contrasts)).toBeLessThan(3.2)
  })
})

/** The ratio of two colours `#rrggbb`: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio */
function contrast(one: string, other: string): number {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

test('red buttons confirm, and no button on a page is red at rest', () => {
  const red = /<(?:Action|Operator)?Button\s(?:\s*(?:icon|size|needs|about)=\S+)*\s*kind="danger"/
  const pages = globSync('web/{app,components,pages}/**/*.tsx', { cwd: ROOT })
  const found = pages.filter((path) => red.test(read(path)))
  // It is the second of two clicks.
  expect(found).toEqual(['web/pages/playground/history-dialog.tsx'])
})
