import { Fragment } from 'react'

/** An id, an address or a path: it breaks after the marks between its words, not within them. */
export const Code = ({ children, className }: { children: string; className?: string }) => (
  <code className={className}>
    <Breakable text={children} />
  </code>
)

/** A long name that may break after `/`, `.`, `@`, `:` and `-`, and after `_` between words. */
export const Breakable = ({ text }: { text: string }) =>
  text.split(/(?<=[/.@:-])(?=.)|(?<=_)(?=[a-z])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a name stay in their places
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ))
