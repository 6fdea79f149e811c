import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/platform/observability/metrics.ts'

const STALL_MS = 1_500

const lagIn = (text: string, figure: string) =>
  Number(new RegExp(`^nodejs_eventloop_lag_${figure}_seconds\\{[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1])

test('an event loop that is held up out of idleness shows in the metrics, once', async () => {
  const metrics = createMetrics('test')
  metrics.start()
  await delay(100)
  // Longer than an idle loop's looks are apart, so that one is due meanwhile.
  const untilMs = performance.now() + STALL_MS
  while (performance.now() < untilMs);
  await delay(100)
  const text = await metrics.text()
  expect(lagIn(text, 'max')).toBeGreaterThan((STALL_MS - 1_100) / 1_000)
  expect(lagIn(text, 'max')).toBeLessThan(60)
  expect(lagIn(text, 'p99')).toBeGreaterThanOrEqual(lagIn(text, 'p50'))
  await delay(1_100)
  expect(lagIn(await metrics.text(), 'min')).toBeLessThan(lagIn(text, 'max'))
  metrics.stop()
})
