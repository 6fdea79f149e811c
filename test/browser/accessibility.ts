import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { NARROW, WIDE } from './browser.ts'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** Without transitions a change of theme is there at once, instead of from parent to child, a frame for each. */
const END_TRANSITIONS = `(() => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('*, *::before, *::after { transition: none !important }')
  document.adoptedStyleSheets.push(sheet)
})()`
const NEXT_FRAME = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))'
const GRAVE = ['serious', 'critical']
/** Rules of a lower impact, and axe gives what a rule finds the rule's own, are a quarter of a run for nothing. */
const KEEP_GRAVE_RULES = `axe.configure({
  rules: axe._audit.rules
    .filter(({ impact }) => impact && !${JSON.stringify(GRAVE)}.includes(impact))
    .map(({ id }) => ({ id, enabled: false })),
});`

interface AxeViolation {
  id: string
  impact: string
  nodes: Array<{ target: string[]; failureSummary: string }>
}

/**
 * Expects no serious and no critical violation on the page as it is, in light and in dark. Only the contrast of
 * colours depends on the theme, so in the second theme nothing else is looked at again. Starts with the theme the
 * page is in and leaves it in the other, because a change of theme draws the whole page again.
 */
export async function expectAccessible(page: Page): Promise<void> {
  await expectNoViolation(page)
  await changeTheme(page)
  await expectNoViolation(page, { runOnly: ['color-contrast'] })
}

/** Widths change the layout and themes the colours: looks at both of each, the second width in the second theme. */
export async function expectAccessibleAtBothWidths(
  page: Page,
  lookAlso: () => Promise<void> = async () => undefined,
): Promise<void> {
  for (const viewport of [NARROW, WIDE]) {
    await page.setViewportSize(viewport)
    await lookAlso()
    if (viewport === WIDE) await changeTheme(page)
    await expectNoViolation(page)
  }
}

export async function changeTheme(page: Page): Promise<void> {
  const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
  await page.emulateMedia({ colorScheme: isDark ? 'light' : 'dark' })
  await page.evaluate(NEXT_FRAME)
}

/** Expects none on the page as it is, in the theme it has. */
export async function expectNoViolation(page: Page, options: Record<string, unknown> = {}): Promise<void> {
  if (!(await page.evaluate("'axe' in window")))
    await page.evaluate(`${AXE}\n${KEEP_GRAVE_RULES}\n${END_TRANSITIONS}`)
  const where = `${new URL(page.url()).pathname} at ${page.viewportSize()?.width}`
  // A region that comes to scroll at another width takes the focus a moment later.
  await expect.poll(() => violations(page, options), { message: where }).toEqual([])
}

async function violations(page: Page, options: Record<string, unknown>): Promise<string[]> {
  // What axe would preload concerns audio and video, of which there is none.
  const run = { resultTypes: ['violations'], preload: false, ...options }
  const found = (await page.evaluate(
    `axe.run(document, ${JSON.stringify(run)}).then(({ violations }) => violations)`,
  )) as AxeViolation[]
  return found
    .filter(({ impact }) => GRAVE.includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}
