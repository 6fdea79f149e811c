import { defineConfig } from 'vitest/config'

/** The tests that `npm run mutation` runs against each mutant: pure, and without imports that take longer than they do. */
export default defineConfig({
  test: {
    isolate: false,
    // Node loads what is tested, as in the suite itself: a mutant costs no transformation.
    experimental: { viteModuleRunner: false },
    setupFiles: ['test/helpers/fixed-seed.ts'],
    include: [
      'test/core/billing/{allowance-period,postings,pricing,settlement,uncharged-cost}.test.ts',
      'test/core/failover/*.test.ts',
      'test/core/kernel/money.test.ts',
    ],
  },
})
