import { Children, isValidElement, type ReactNode } from 'react'

/** A table of Markdown: what has no room is reached by scrolling. */
export const MarkdownTable = ({ children }: { children?: ReactNode }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section className="overflow-x-auto" tabIndex={0} aria-label="Table">
    <table>{children}</table>
  </section>
)

/** The text of an element and of those within. */
export const textOf = (node: ReactNode): string =>
  Children.toArray(node)
    .map((child) =>
      isValidElement<{ children?: ReactNode }>(child) ? textOf(child.props.children) : String(child),
    )
    .join('')
