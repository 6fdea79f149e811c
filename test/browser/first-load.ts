import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** What a browser received for a page, and how it was drawn. */
export interface FirstLoad {
  /** Bytes on the wire, compressed and with headers. */
  bytes: number
  requests: number
  /** Cumulative layout shift. */
  shift: number
  /** Largest contentful paint, after the start of the navigation. */
  paintMs: number
}

const READ = `new Promise((resolve) => {
  let shift = 0
  let paintMs = 0
  const observe = (type, each) => {
    const observer = new PerformanceObserver((list) => list.getEntries().forEach(each))
    observer.observe({ type, buffered: true })
  }
  observe('layout-shift', (entry) => { if (!entry.hadRecentInput) shift += entry.value })
  observe('largest-contentful-paint', (entry) => { paintMs = entry.startTime })
  // Entries of the past arrive in a task of their own.
  setTimeout(() => {
    const loads = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    resolve({
      bytes: loads.reduce((sum, { transferSize }) => sum + transferSize, 0),
      requests: loads.length,
      shift,
      paintMs,
    })
  }, 100)
})`

/** Reads what a page has loaded so far in a browser that had nothing of it; waits until no request runs. */
export async function firstLoadOf(page: Page): Promise<FirstLoad> {
  await page.waitForLoadState('networkidle')
  await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
  return (await page.evaluate(READ)) as FirstLoad
}
