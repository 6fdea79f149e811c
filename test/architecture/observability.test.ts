import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/platform/observability/metrics.ts'

const ROOT = resolve(import.meta.dirname, '../..')

const filesUnder = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'))

const METRIC = /\b(?:shuntyard|nodejs|process|gen_ai_client)_[a-z0-9_]+/g

test.each(['docs/observability/alerts.yml', 'docs/observability/grafana/shuntyard.json'])(
  '%s asks only for metrics that some process has',
  (file) => {
    const known = new Set(
      createMetrics('test')
        .of('test')
        .getMetricsAsArray()
        .map(({ name }) => name),
    )
    for (const text of [...filesUnder('src', '.ts'), ...filesUnder('workers', '.ts')]) {
      for (const [, name] of text.matchAll(/'((?:shuntyard|gen_ai_client)_[a-z_]+)'/g)) known.add(name!)
    }
    const asked = readFileSync(join(ROOT, file), 'utf8').match(METRIC) ?? []
    expect(asked.length).toBeGreaterThan(5)
    const names = asked.map((name) => name.replace(/_(bucket|sum|count)$/, ''))
    expect(names.filter((name) => !known.has(name))).toEqual([])
  },
)
