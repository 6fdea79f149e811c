import { Children, isValidElement, memo, type ReactNode } from 'react'
import ReactMarkdown, { type Components, type Options } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from '../../components/text/copy.tsx'

/**
 * Markdown that somebody else wrote: elements of the page, never HTML of the text. Nothing is loaded from elsewhere:
 * images are links to themselves.
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

/** The headings of the page stand above those of an answer. */
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
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="overflow-x-auto" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
}

/** The text of an element and of those within. */
const textOf = (node: ReactNode): string =>
  Children.toArray(node)
    .map((child) =>
      isValidElement<{ children?: ReactNode }>(child) ? textOf(child.props.children) : String(child),
    )
    .join('')

interface Node {
  properties?: Record<string, unknown>
  children?: Node[]
}

/** Footnotes have ids, which would be there twice with two answers on the page. */
const removeIds: NonNullable<Options['rehypePlugins']>[number] = () =>
  function visit(node: Node) {
    delete node.properties?.id
    delete node.properties?.ariaDescribedBy
    for (const child of node.children ?? []) visit(child)
  }
