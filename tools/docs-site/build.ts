import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { runProcess, withProgress } from '../launcher/bootstrap/run-process.mjs'
import { apiReference } from './api-reference.ts'
import { SITE } from './site-config.ts'
import { REFERENCE, sitePages } from './site-pages.ts'

/** `npm run docs:build`: the site of the docs as static files. Installs its generator where it is missing or another. */
const ROOT = resolve(import.meta.dirname, '../..')
const LOCK = 'package-lock.json'

const isInstalled = existsSync(join(SITE, 'node_modules')) && textOf(SITE) === textOf(import.meta.dirname)
if (!isInstalled) {
  for (const file of ['package.json', LOCK]) copy(join(import.meta.dirname, file), join(SITE, file))
  await withProgress('installing the generator', () =>
    runProcess('npm', ['ci', '--no-audit', '--no-fund'], { cwd: SITE }),
  )
}
const pages = join(SITE, 'pages')
rmSync(pages, { recursive: true, force: true })
for (const path of [...sitePages(ROOT), 'docs/screenshots']) copy(join(ROOT, path), join(pages, path))
writeFileSync(join(pages, REFERENCE), await apiReference(process.env.PUBLIC_URL ?? 'http://127.0.0.1:8080'))
mkdirSync(join(SITE, '.vitepress'), { recursive: true })
writeFileSync(
  join(SITE, '.vitepress/config.mts'),
  `export { default } from ${JSON.stringify(join(import.meta.dirname, 'site-config.ts'))}\n`,
)
await withProgress('building the site', () =>
  runProcess(process.execPath, ['node_modules/vitepress/bin/vitepress.js', 'build'], { cwd: SITE }),
)
process.stdout.write(`built in ${join(SITE, 'dist')}\n`)
// What the routes opened when they were registered would keep the process.
process.exit(0)

function textOf(folder: string): string | null {
  return existsSync(join(folder, LOCK)) ? readFileSync(join(folder, LOCK), 'utf8') : null
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true })
}
