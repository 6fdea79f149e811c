/** What this needs of a node of Markdown. */
interface MarkdownNode {
  type: string
  lang?: string | null
  value?: string
  children?: MarkdownNode[]
  data?: { hName: string; hProperties: Record<string, string> }
}

/** The languages of examples, with their names on tabs. */
export const EXAMPLE_LANGUAGES: Readonly<Record<string, string>> = {
  sh: 'curl',
  python: 'Python',
  js: 'JavaScript',
}

const isExample = ({ type, lang }: MarkdownNode): boolean =>
  type === 'code' && (lang ?? '') in EXAMPLE_LANGUAGES

/** Puts examples that follow each other, each in a language of its own, into one element: the same in tabs. */
export const groupCode = () => (tree: MarkdownNode) => {
  const grouped: MarkdownNode[] = []
  for (const node of tree.children ?? []) {
    const last = grouped.at(-1)
    const group = last?.type === 'codeGroup' ? (last.children ?? []) : last && isExample(last) ? [last] : null
    if (!group || !isExample(node) || group.some(({ lang }) => lang === node.lang)) grouped.push(node)
    else
      grouped.splice(-1, 1, {
        type: 'codeGroup',
        data: { hName: 'figure', hProperties: {} },
        children: [...group, node],
      })
  }
  tree.children = grouped
}
