import type { Page } from 'playwright-core'
import { test } from 'vitest'
import { startDemoGateway } from './demo-gateway.ts'
import { firstLoadOf } from './first-load.ts'
import { lendSession } from './sample-account.ts'

/** How much slower than this machine's the processor of the browser is. */
const SLOWDOWN = 4

/** A page, and what somebody does on it. */
const PAGES: ReadonlyArray<{ path: string; isSignedIn?: true; act: (page: Page) => Promise<unknown> }> = [
  { path: '/', act: (page) => page.getByRole('link', { name: 'Models', exact: true }).click() },
  { path: '/models', act: (page) => page.getByLabel('Search models').pressSequentially('claude') },
  {
    path: '/dashboard',
    isSignedIn: true,
    act: (page) => page.getByRole('link', { name: 'API keys' }).click(),
  },
  {
    path: '/playground',
    isSignedIn: true,
    act: async (page) => {
      await page.getByRole('button', { name: /^Model:/ }).click()
      await page.getByLabel('Search models').pressSequentially('claude')
    },
  },
  {
    path: '/calls/CALL',
    isSignedIn: true,
    act: (page) => page.getByRole('link', { name: '← Usage' }).click(),
  },
  { path: '/usage', isSignedIn: true, act: (page) => page.getByLabel('Group by').selectOption({ index: 1 }) },
]

/** How many requests followed one another at most, and the elements on the page. */
const COUNT = `(() => {
  const loads = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  const depths = []
  for (const { startTime, responseEnd } of loads.sort((a, b) => a.startTime - b.startTime)) {
    const before = depths.filter(({ end }) => end <= startTime).map(({ depth }) => depth)
    depths.push({ end: responseEnd, depth: 1 + Math.max(0, ...before) })
  }
  return { inSeries: Math.max(...depths.map(({ depth }) => depth)), elements: document.querySelectorAll('*').length }
})()`

const OBSERVE = `
  window.longestEvent = 0
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.longestEvent = Math.max(window.longestEvent, duration)
  }).observe({ type: 'event', durationThreshold: 16 })`

test('the speed of pages is printed: for a quiet machine, and asserted nowhere', async () => {
  const { browser, stack, client, callId, close } = await startDemoGateway()
  try {
    for (const { path, isSignedIn, act } of PAGES) {
      const opened = await browser.open(stack.url)
      const { page, context } = opened
      if (isSignedIn) await lendSession(opened, client, stack.url)
      const session = await context.newCDPSession(page)
      await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN })
      await session.send('Performance.enable')
      await page.goto(stack.url + path.replace('CALL', callId))
      await page.locator('main h1').waitFor()
      const { bytes, requests, paintMs, shift } = await firstLoadOf(page)
      const { inSeries, elements } = (await page.evaluate(COUNT)) as Record<'inSeries' | 'elements', number>
      const { metrics } = await session.send('Performance.getMetrics')
      const ms = (name: string) => Math.round(1_000 * metrics.find((metric) => metric.name === name)!.value)
      await page.evaluate(OBSERVE)
      await act(page)
      await page.waitForLoadState('networkidle')
      const eventMs = Number(await page.evaluate('window.longestEvent'))
      console.log(
        `${path}: LCP ${Math.round(paintMs)} ms, interaction ${Math.round(eventMs)} ms, shift ${shift.toFixed(3)}, ` +
          `${(bytes / 1_000).toFixed(0)} kB in ${requests} requests, ${inSeries} in series, ${elements} elements, ` +
          `script ${ms('ScriptDuration')} ms, layout and style ${ms('LayoutDuration') + ms('RecalcStyleDuration')} ms`,
      )
      await context.close()
    }
  } finally {
    await close()
  }
})
