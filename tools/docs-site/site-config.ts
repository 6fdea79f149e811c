import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { headingId } from '../../web/lib/docs/doc-text.ts'
import { type MarkdownParser, withSiteLinks } from './site-links.ts'
import { sidebar, sitePages } from './site-pages.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Where it is built: its generator, copies of the pages, and `dist`. */
export const SITE = resolve(ROOT, '.data/docs-site')
const pages = new Set(sitePages(ROOT))
const links = {
  folder: join(SITE, 'pages'),
  isOther: (file: string) => !pages.has(file) && existsSync(join(ROOT, file)),
  repository: process.env.DOCS_REPOSITORY,
}

/** VitePress's configuration: pages are at the addresses of their files. */
export default {
  title: 'Shuntyard',
  description: 'A routing gateway for chat completions',
  base: process.env.DOCS_BASE ?? '/',
  srcDir: links.folder,
  outDir: join(SITE, 'dist'),
  rewrites: {
    'README.md': 'index.md',
    'docs/README.md': 'docs/index.md',
    'docs/decisions/README.md': 'docs/decisions/index.md',
  },
  markdown: {
    html: false,
    anchor: { slugify: headingId },
    config: (parser: MarkdownParser) => withSiteLinks(parser, links),
  },
  themeConfig: { search: { provider: 'local' }, outline: [2, 3], sidebar: sidebar(ROOT) },
}
