import { defineConfig } from 'vitest/config'

/** `npm run console:screenshots`: runs on the services of the tests, and is none itself. */
export default defineConfig({
  test: {
    include: ['test/browser/take-screenshots.ts'],
    testTimeout: 300_000,
    hookTimeout: 400_000,
    expect: { poll: { timeout: 15_000 } },
  },
})
