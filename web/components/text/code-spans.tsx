/** A sentence in which names stand between backticks, as in Markdown. */
export const CodeSpans = ({ text }: { text: string }) =>
  text.split('`').map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  )
