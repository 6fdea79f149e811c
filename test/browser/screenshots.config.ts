import { defineConfig } from 'vitest/config'

/** `npm run console:screenshots` and `console:speed`: they run on the services of the tests, and are none themselves. */
export default defineConfig({
  test: {
    include: ['test/browser/take-screenshots.ts', 'test/browser/measure-speed.ts'],
    testTimeout: 300_000,
    hookTimeout: 400_000,
    expect: { poll: { timeout: 15_000 } },
  },
})
