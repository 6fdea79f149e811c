import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Viewport } from './browser.ts'
import { expectToFit } from './on-screen.ts'

/** The smallest phone and the largest desk that pages are made for. */
const EXTREMES: Viewport[] = [
  { width: 320, height: 700 },
  { width: 1920, height: 1080 },
]

/** Figures that break, or reach out of their cell, and buttons of rows that are out of sight. */
const FIND_CUT = `[...document.querySelectorAll('main .money, main .figure, main .table-action button')]
  .filter((element) => {
    const box = element.getBoundingClientRect()
    if (box.width === 0 || !element.checkVisibility()) return false
    const cell = element.closest('td, dd, li')?.getBoundingClientRect()
    const right = Math.min(cell?.right ?? Infinity, document.documentElement.clientWidth)
    return element.getClientRects().length > 1 || box.right > right + 1
  })
  .map((element) => element.textContent + ' in ' + (element.closest('td')?.dataset.label ?? 'the page'))`

/** Expects every amount, every figure in large type and every button of a row to be whole, from 320 to 1920 pixels. */
export async function expectWholeFigures(page: Page): Promise<void> {
  for (const viewport of EXTREMES) {
    await page.setViewportSize(viewport)
    await expect
      .poll(() => page.evaluate(FIND_CUT), { message: `${page.url()} at ${viewport.width}`, timeout: 10_000 })
      .toEqual([])
    await expectToFit(page)
  }
}
