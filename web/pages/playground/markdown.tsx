import { memo, type ReactNode } from 'react'
import ReactMarkdown, { type Components, type Options } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from '../../components/text/copy.tsx'
import { MarkdownTable, textOf } from '../../components/text/markdown-parts.tsx'

/**
 * Markdown from outside, such as a completion. HTML in it is not rendered and nothing is loaded from other sites: an
 * image becomes a link.
 */
export const Markdown = memo(({ text }: { text: string }) => (
  <div className="markdown">
    <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[removeIds]} components={COMPONENTS}>
      {text}
    </ReactMarkdown>
  </div>
))

const isWebAddress = (address: unknown): address is string =>
  typeof address === 'string' && /^(https?:\/\/|mailto:)/i.test(address)

function OutwardLink({ href, children }: { href: unknown; children: ReactNode }) {
  if (!isWebAddress(href)) return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}

/** Headings are shifted below the headings of the page. */
const COMPONENTS: Components = {
  a: ({ href, children }) => <OutwardLink href={href}>{children}</OutwardLink>,
  img: ({ src, alt }) => <OutwardLink href={src}>Image: {alt || 'no description'}</OutwardLink>,
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h4>{children}</h4>,
  h3: ({ children }) => <h5>{children}</h5>,
  h4: ({ children }) => <h6>{children}</h6>,
  h5: ({ children }) => <h6>{children}</h6>,
  pre: ({ children }) => <CodeBlock code={textOf(children).replace(/\n$/, '')} of="the code" />,
  input: ({ checked }) => <span>{checked ? '☑' : '☐'}</span>,
  table: MarkdownTable,
}

interface Node {
  properties?: Record<string, unknown>
  children?: Node[]
}

/** Removes the ids of footnotes, which would be duplicated by a second completion on the page. */
const removeIds: NonNullable<Options['rehypePlugins']>[number] = () =>
  function visit(node: Node) {
    delete node.properties?.id
    delete node.properties?.ariaDescribedBy
    for (const child of node.children ?? []) visit(child)
  }
