import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { consoleFolder, ensureConsole } from '../../tools/launcher/build-console.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const DIST = join(consoleFolder(ROOT), 'dist')
/** Without fonts, which every-page.test.ts counts. */
const LIMIT_BYTES = 200_000
const LANDING_LIMIT_BYTES = 150_000

interface ManifestEntry {
  file: string
  css?: string[]
  imports?: string[]
}

type Manifest = Record<string, ManifestEntry>

/** Every file that the modules need before they can run, their style sheets included. */
function filesOf(manifest: Manifest, modules: string[]): Set<string> {
  const files = new Set<string>()
  const seen = new Set<string>()
  const visit = (name: string) => {
    if (seen.has(name)) return
    seen.add(name)
    const entry = manifest[name]
    if (!entry) throw new Error(`not in the build: ${name}`)
    for (const file of [entry.file, ...(entry.css ?? [])]) files.add(file)
    entry.imports?.forEach(visit)
  }
  modules.forEach(visit)
  return files
}

const compressedBytes = (files: Iterable<string>): number =>
  [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(DIST, file))).length, 0)

describe('the built console', () => {
  let manifest: Manifest

  beforeAll(async () => {
    await ensureConsole(ROOT)
    manifest = JSON.parse(readFileSync(join(DIST, '.vite', 'manifest.json'), 'utf8'))
  })

  test.each<[string, string[], number?]>([
    ['the landing page', [], LANDING_LIMIT_BYTES],
    ['the models page', ['pages/models-page.tsx']],
    [
      'the dashboard with its chart',
      ['app/account-layout.tsx', 'pages/dashboard-page.tsx', 'components/chart/time-chart.tsx'],
    ],
    ['the playground', ['app/account-layout.tsx', 'pages/playground-page.tsx']],
    [
      'the operators’ overview with its chart',
      ['app/operator-layout.tsx', 'pages/admin/overview-page.tsx', 'components/chart/time-chart.tsx'],
    ],
    ['the page of overrides', ['app/operator-layout.tsx', 'pages/admin/catalog-page.tsx']],
  ])('loads %s within its limit, compressed', (_, modules, limitBytes = LIMIT_BYTES) => {
    const files = filesOf(manifest, ['index.html', ...modules])
    const bytes = compressedBytes(['index.html', ...files])
    expect(bytes).toBeGreaterThan(30_000)
    expect(bytes).toBeLessThan(limitBytes)
  })

  test('loads no page for operators before one is opened', () => {
    const forOthers = filesOf(manifest, ['index.html', 'app/account-layout.tsx', 'pages/dashboard-page.tsx'])
    for (const [name, { file }] of Object.entries(manifest)) {
      if (/pages\/admin|operator-layout/.test(name)) expect(forOthers).not.toContain(file)
    }
    expect(Object.keys(manifest)).toContain('pages/admin/overview-page.tsx')
  })

  test('loads neither the component library nor the docs and their search with the landing page', () => {
    const files = [...filesOf(manifest, ['index.html'])].join()
    const chunks = Object.values(manifest).map(({ file }) => file)
    for (const name of [
      'aria',
      'aria-over-page',
      'parts',
      'more-icons',
      'palette-dialog',
      'doc-page',
      'quick-start',
    ]) {
      expect(chunks.join()).toContain(`/${name}-`)
      expect(files).not.toContain(`/${name}-`)
    }
  })

  test('has no inline script and no inline style, which its content security policy refuses', () => {
    const html = readFileSync(join(DIST, 'index.html'), 'utf8')
    expect(html).toMatch(/<script[^>]+src="\/assets\//)
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>/)
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/)
  })

  test('is fetched from this host alone', () => {
    const html = readFileSync(join(DIST, 'index.html'), 'utf8')
    const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address)
    expect(addresses.length).toBeGreaterThan(2)
    for (const address of addresses) expect(address).toMatch(/^\/(?!\/)/)
    for (const file of filesOf(manifest, ['index.html'])) {
      if (!file.endsWith('.css')) continue
      expect(readFileSync(join(DIST, file), 'utf8')).not.toMatch(/@import|url\(\s*["']?(https?:)?\/\//)
    }
  })

  test('lies there compressed where that is worth it, so that serving compresses nothing', () => {
    for (const file of filesOf(manifest, ['index.html'])) {
      const plain = readFileSync(join(DIST, file)).length
      if (plain < 1_024) continue
      expect(readFileSync(join(DIST, `${file}.br`)).length).toBeLessThan(plain)
      expect(readFileSync(join(DIST, `${file}.gz`)).length).toBeLessThan(plain)
    }
  })
})
