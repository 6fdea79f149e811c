import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Flow tests start whole stacks; more than two at a time would only wait for each other's processors.
    maxWorkers: 2,
    testTimeout: 60_000,
    // A guarantee is that a thing comes about, not that it does within a second on a busy machine.
    expect: { poll: { timeout: 15_000 } },
    hookTimeout: 60_000,
  },
})
