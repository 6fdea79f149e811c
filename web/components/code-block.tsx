import { CopyButton } from './copy-button.tsx'

/** Code to read and to copy. It scrolls sideways, so it takes the focus for keyboards. */
export function CodeBlock({ code, of }: { code: string; of: string }) {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="code-scroll" tabIndex={0} aria-label={`Code: ${of}`}>
        <pre>
          <code>{code}</code>
        </pre>
      </section>
      <CopyButton text={code} of={of} />
    </div>
  )
}
