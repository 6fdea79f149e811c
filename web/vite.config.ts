import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const GATEWAY = process.env.GATEWAY_URL ?? 'http://127.0.0.1:8080'

/** A smaller file fits into one packet as it is. */
const WORTH_COMPRESSING_BYTES = 1_024

const dist = join(import.meta.dirname, 'dist')

/** The console: one page, split by route, beside a manifest that says what each route loads. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  // Only the document names files by absolute paths, which the gateway puts below its own (static-console.ts).
  experimental: {
    renderBuiltUrl: (file, { hostType }) => (hostType === 'html' ? `/${file}` : { relative: true }),
  },
  plugins: [react(), tailwind(), precompress()],
  build: {
    outDir: dist,
    emptyOutDir: true,
    manifest: true,
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    // Inlined files would be data: addresses, which the content security policy refuses for scripts and fonts.
    assetsInlineLimit: 0,
    // Its helper is inline script of no use to browsers this young.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // A dozen files a page instead of three dozen; the first load has nothing that it does not use.
        codeSplitting: {
          groups: [
            {
              name: 'framework',
              test: /node_modules\/(react|react-dom|scheduler|use-sync-external-store|@tanstack)\//,
              priority: 2,
            },
            {
              name: (id, modules) => (isInFirstLoad(id, modules) ? 'site' : null),
              test: /\/web\/(?!index|main)|preload-helper/,
              priority: 1,
            },
            // Icons of nearly every page, and those that the landing page need not load.
            { name: 'icons', test: /node_modules\/lucide-react\//, minShareCount: 12 },
            { name: 'more-icons', test: /node_modules\/lucide-react\//, minShareCount: 2 },
            // Tabs, which a page shows at once, apart from what only opens over it.
            {
              name: 'aria-over-page',
              test: /node_modules\/(react-aria|react-stately)[^/]*\/.*(overlay|menu|toast|landmark|Modal|Popover|Dialog)/i,
              includeDependenciesRecursively: false,
            },
            { name: 'aria', test: /node_modules\/(react-aria|react-stately|@internationalized|@react-)/ },
            {
              name: 'parts',
              test: /\/web\/(lib\/(?!docs|operators|document-diff|error-reasons|calls)|api\/re|components\/(layout|table|text\/(?!snippets|diff-view)|feedback\/messages|form\/(button|fields)))/,
              minShareCount: 4,
            },
          ],
        },
      },
    },
  },
  server: {
    host: '127.0.0.1',
    port: 5173,
    // The docs are read from docs/.
    fs: { allow: ['..'] },
    proxy: Object.fromEntries(
      [
        '/console/api',
        '/admin/api',
        '/admin/queues',
        '/v1',
        '/pricing.json',
        '/openapi.json',
        '/surfaces.json',
        '/billing/development',
      ].map((path) => [path, { target: GATEWAY, changeOrigin: true }]),
    ),
  },
})

interface Modules {
  getModuleInfo(id: string): { importedIds: readonly string[] } | null
}

let firstLoad: Set<string> | undefined

/** Whether every page needs a module before it shows anything: those that the entry imports, directly or through others. */
function isInFirstLoad(id: string, modules: Modules): boolean {
  if (firstLoad === undefined) {
    firstLoad = new Set()
    const left = [join(import.meta.dirname, 'main.tsx')]
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (firstLoad.has(next)) continue
      firstLoad.add(next)
      left.push(...(modules.getModuleInfo(next)?.importedIds ?? []))
    }
  }
  return firstLoad.has(id)
}

/** Writes a .br and a .gz beside every text file, so that serving costs no compression. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    writeBundle() {
      for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(js|css|html|svg)$/.test(entry.name)) continue
        const path = join(entry.parentPath, entry.name)
        const content = readFileSync(path)
        if (content.length < WORTH_COMPRESSING_BYTES) continue
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params }))
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }))
      }
    },
  }
}
