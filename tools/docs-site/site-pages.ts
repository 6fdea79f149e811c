import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { titleOf } from '../../web/lib/docs/doc-text.ts'

export interface SidebarGroup {
  text: string
  items: Array<{ text: string; link: string }>
}

/** The page of the API reference, which the build writes. */
export const REFERENCE = 'docs/reference.md'

/** The pages of the repository that the site has, by their files. */
export const sitePages = (root: string): string[] => [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'],
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
]

/** The pages by the rows of docs/README.md, with the reference after `api.md`. */
export function sidebar(root: string): SidebarGroup[] {
  const pages = new Set(sitePages(root))
  const rows = readFileSync(join(root, 'docs/README.md'), 'utf8').matchAll(/^\| (.+?) \| (.+) \|$/gm)
  return [...rows].slice(1).map(([, purpose = '', links = '']) => ({
    text: purpose[0]!.toUpperCase() + purpose.slice(1),
    items: [...links.matchAll(/\]\(([\w./-]+)\)/g)]
      .map(([, link = '']) => posix.join('docs', link))
      .filter((page) => pages.has(page))
      .flatMap((page) => [
        { text: titleOf(readFileSync(join(root, page), 'utf8')), link: addressOf(page) },
        ...(page === 'docs/api.md' ? [{ text: 'API reference', link: addressOf(REFERENCE) }] : []),
      ]),
  }))
}

const addressOf = (page: string): string => `/${page.replace(/(README)?\.md$/, '')}`
