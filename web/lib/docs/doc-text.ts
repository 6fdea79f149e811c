/** The fragment that leads to a heading, as code hosts make it: `## Streams that break` is `#streams-that-break`. */
export const headingId = (heading: string): string =>
  plainText(heading)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')

/** Markdown as words: links by their texts, without marks. */
const plainText = (markdown: string): string =>
  markdown
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*```.*$/gm, '')
    .replace(/^\s*\|?[-| ]+\|\s*$/gm, '')
    .replace(/[`*|]/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()
