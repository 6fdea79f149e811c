import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { NARROW, WIDE } from './browser.ts'
import { untilStill } from './on-screen.ts'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const GRAVE = ['serious', 'critical']

interface AxeViolation {
  id: string
  impact: string
  nodes: Array<{ target: string[]; failureSummary: string }>
}

/**
 * Expects no serious and no critical violation on the page as it is, in light and in dark. Only the contrast of
 * colours depends on the theme, so in dark nothing else is looked at again.
 */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(AXE)
  await showIn('light', page)
  const light = await violations(page, {})
  await showIn('dark', page)
  const dark = await violations(page, { runOnly: ['color-contrast'] })
  await showIn('light', page)
  const where = `${new URL(page.url()).pathname} at ${page.viewportSize()?.width}`
  expect({ light, dark }, where).toEqual({ light: [], dark: [] })
}

/** The same at both widths. */
export async function expectAccessibleAtBothWidths(page: Page): Promise<void> {
  for (const viewport of [NARROW, WIDE]) {
    await page.setViewportSize(viewport)
    await expectAccessible(page)
  }
}

/** Colours that are still on their way to the other theme would be judged as they are. */
async function showIn(colorScheme: 'light' | 'dark', page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme })
  await untilStill(page)
}

async function violations(page: Page, options: Record<string, unknown>): Promise<string[]> {
  const run = { resultTypes: ['violations'], ...options }
  const found = (await page.evaluate(
    `axe.run(document, ${JSON.stringify(run)}).then(({ violations }) => violations)`,
  )) as AxeViolation[]
  return found
    .filter(({ impact }) => GRAVE.includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`)
}
