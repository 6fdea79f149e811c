import { Link } from '@tanstack/react-router'
import { Children, isValidElement, memo, type ReactNode } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from '../../components/text/copy.tsx'
import { MarkdownTable, textOf } from '../../components/text/markdown-parts.tsx'
import { TabbedCode } from '../../components/text/snippets.tsx'
import { docLink } from '../../lib/docs/doc-pages.ts'
import { headingId } from '../../lib/docs/doc-text.ts'
import { EXAMPLE_LANGUAGES, groupCode } from '../../lib/docs/group-code.ts'

/** A page of docs/ without its title. Its Markdown becomes elements, never HTML. */
export const DocMarkdown = memo(({ text }: { text: string }) => (
  <div className="markdown doc-text">
    <ReactMarkdown remarkPlugins={[remarkGfm, groupCode]} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  </div>
))

const COMPONENTS: Components = {
  a: ({ href = '', children }) => <DocAnchor href={href}>{children}</DocAnchor>,
  h2: ({ children }) => <DocHeading level={2}>{children}</DocHeading>,
  h3: ({ children }) => <DocHeading level={3}>{children}</DocHeading>,
  pre: ({ children }) => <CodeBlock code={codeOf(children)} of="the example" />,
  figure: ({ children }) => <TabbedCode codes={examplesOf(children)} />,
  table: MarkdownTable,
}

/** A link to a page, to a heading or to another site; one that leads to no page of the console is its text. */
function DocAnchor({ href, children }: { href: string; children?: ReactNode }) {
  const link = docLink(href)
  switch (link.kind) {
    case 'page':
      return (
        <Link to="/docs/$page" params={{ page: link.slug }} hash={link.hash}>
          {children}
        </Link>
      )
    case 'heading':
      return (
        <Link to="." hash={link.hash}>
          {children}
        </Link>
      )
    case 'web':
      return (
        <a href={link.href} target="_blank" rel="noopener noreferrer">
          {children}
        </a>
      )
    case 'none':
      return <span>{children}</span>
  }
}

/** A heading that is a link to itself, so that its address can be copied. */
function DocHeading({ level, children }: { level: 2 | 3; children?: ReactNode }) {
  const Heading = `h${level}` as const
  const id = headingId(textOf(children))
  return (
    <Heading id={id}>
      <Link to="." hash={id}>
        {children}
      </Link>
    </Heading>
  )
}

const codeOf = (node: ReactNode): string => textOf(node).replace(/\n$/, '')

/** The programs of a group, by the languages that their elements name. */
const examplesOf = (group: ReactNode) =>
  Children.toArray(group).flatMap((pre) => {
    if (!isValidElement<{ children?: ReactNode }>(pre)) return []
    const code = Children.toArray(pre.props.children)[0]
    const classes = isValidElement<{ className?: string }>(code) ? code.props.className : undefined
    const id = /language-(\w+)/.exec(classes ?? '')?.[1] ?? 'text'
    return [{ id, name: EXAMPLE_LANGUAGES[id] ?? id, code: codeOf(code) }]
  })
