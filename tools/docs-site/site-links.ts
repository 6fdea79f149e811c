import { dirname, relative, resolve } from 'node:path'

/** What of markdown-it and its tokens is used here. */
interface Token {
  type: string
  children: Token[] | null
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}
export interface MarkdownParser {
  core: { ruler: { push(name: string, rule: (state: ParserState) => void): void } }
}
interface ParserState {
  tokens: Token[]
  env: { path: string }
}

interface LinkOptions {
  /** The folder with the pages. */
  folder: string
  /** Whether a file of the repository is there, and not a page of the site. */
  isOther: (file: string) => boolean
  /** The code host, such as https://github.com/owner/name; undefined: none. */
  repository: string | undefined
}

/** Makes links of pages to other files of the repository lead to the code host, or plain text without one. */
export function withSiteLinks(parser: MarkdownParser, options: LinkOptions): void {
  parser.core.ruler.push('site-links', ({ tokens, env }) => {
    for (const token of tokens)
      if (token.children) token.children = siteLinks(token.children, dirname(env.path), options)
  })
}

function siteLinks(tokens: Token[], from: string, { folder, isOther, repository }: LinkOptions): Token[] {
  let isDropped = false
  return tokens.filter((token) => {
    const wasDropped = isDropped
    if (token.type === 'link_close') isDropped = false
    if (token.type !== 'link_open') return !(wasDropped && token.type === 'link_close')
    const href = token.attrGet('href') ?? ''
    if (/^(\w+:|#|\/)/.test(href)) return true
    const [file = '', ...fragment] = href.split('#')
    const target = relative(folder, resolve(from, file))
    isDropped = isOther(target) && repository === undefined
    token.attrSet(
      'href',
      isOther(target)
        ? [`${repository}/blob/main/${target}`, ...fragment].join('#')
        : href.replace('README.md', 'index.md'),
    )
    return !isDropped
  })
}
