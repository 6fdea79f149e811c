/** A heading of a page with what follows it, up to the next. */
export interface DocSection {
  /** 2 or 3; 1 for what precedes the first heading. */
  depth: number
  /** Without markup; empty for what precedes the first heading. */
  title: string
  /** The fragment of its address; empty for what precedes the first heading. */
  id: string
  /** Its Markdown. */
  text: string
}

/** The address of the gateway as the pages write it; it is replaced by that of the gateway which shows them. */
export const WRITTEN_ADDRESS = 'http://127.0.0.1:8080'

/** The name in a page's first line. */
export const titleOf = (markdown: string): string => plainText(/^# (.+)$/m.exec(markdown)?.[1] ?? '')

/** The page without its title, with the address of this gateway. */
export const bodyOf = (markdown: string, address: string): string =>
  markdown.replace(/^# .+\n+/, '').replaceAll(WRITTEN_ADDRESS, address)

/** The sections of a page, by its headings of the second and third level. Lines of code are no headings. */
export function sectionsOf(markdown: string): DocSection[] {
  const sections: DocSection[] = [{ depth: 1, title: '', id: '', text: '' }]
  let isCode = false
  for (const line of markdown.replace(/^# .+\n+/, '').split('\n')) {
    if (/^\s*```/.test(line)) isCode = !isCode
    const heading = isCode ? null : /^(##|###) (.+)$/.exec(line)
    const [, marks = '', title = ''] = heading ?? []
    if (heading)
      sections.push({ depth: marks.length, title: plainText(title), id: headingId(title), text: '' })
    else sections.at(-1)!.text += `${line}\n`
  }
  return sections
}

/** The fragment that leads to a heading, as code hosts make it: `## Streams that break` is `#streams-that-break`. */
export const headingId = (heading: string): string =>
  plainText(heading)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')

/** Markdown as words: links by their texts, without marks. */
export const plainText = (markdown: string): string =>
  markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*```.*$/gm, '')
    .replace(/^\s*\|?[-| ]+\|\s*$/gm, '')
    .replace(/[`*|]/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()
