import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Seconds that a file took; see .ci/results.mjs. */
const DURATIONS: Record<string, number> = JSON.parse(readFileSync('.ci/durations.json', 'utf8'))

/** Whole gateways, with processes that are killed, paused and attacked. */
const FLOWS = ['test/{browser,cli,clients,flows,hostile}/**/*.test.ts']
/** These replace modules that others import as they are. */
const MOCKED = ['test/simulation/simulation.test.ts', 'test/calls/worker/attempts/drip.test.ts']

/**
 * The longest files of a project first, so that no worker starts one when the others are done. Files without a time come
 * before all, in vitest's own order: by their size.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification) => DURATIONS[relative('.', moduleId)] ?? Infinity
    const byProject = (a: TestSpecification, b: TestSpecification) =>
      a.project.name.localeCompare(b.project.name)
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => byProject(a, b) || seconds(b) - seconds(a) || 0)
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Files share a worker and what it has imported, which is half the work of most: leave nothing else behind.
    isolate: false,
    // Node loads what is tested as it does in production, which takes no transformation.
    experimental: { viteModuleRunner: false },
    // Flow tests start whole stacks and wait half of their time: four keep two processors busy.
    maxWorkers: 4,
    // A guarantee is that a thing comes about, not how soon it does on a busy machine.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      // Projects run in the order of their names: nothing that takes long is left to the end.
      { extends: true, test: { name: 'flows', include: FLOWS } },
      {
        extends: true,
        test: { name: 'mocked', include: MOCKED, isolate: true, experimental: { viteModuleRunner: true } },
      },
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: [...FLOWS, ...MOCKED],
          setupFiles: ['test/helpers/fixed-seed.ts'],
        },
      },
    ],
  },
})
