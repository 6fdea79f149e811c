import { Check, Copy } from 'lucide-react'
import { type CSSProperties, Fragment, useEffect, useState } from 'react'
import { Breakable } from './code.tsx'

const SHOWN_MS = 2_000

/** Copies a text, and confirms it on the button and to screen readers. `of` names the text: "the key". */
export function CopyButton({ text, of, label }: { text: string; of: string; label?: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = window.setTimeout(() => setState('idle'), SHOWN_MS)
    return () => window.clearTimeout(timer)
  }, [state])

  const copy = async () => setState((await copyText(text)) ? 'copied' : 'failed')
  const Icon = state === 'copied' ? Check : Copy
  return (
    <button
      type="button"
      className={label ? 'button button-small' : 'button button-small button-icon button-quiet'}
      onClick={() => void copy()}
    >
      <Icon size={16} aria-hidden="true" />
      {label ? state === 'copied' ? 'Copied' : label : <span className="sr-only">Copy {of}</span>}
      <span className="sr-only" role="status">
        {state === 'copied' && `Copied ${of}.`}
        {state === 'failed' && 'Copying failed. Select the text and copy it by hand.'}
      </span>
    </button>
  )
}

/** Puts a text on the clipboard; false when the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** The way that also works on plain http, where browsers keep the clipboard's interface from pages. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.readOnly = true
  area.className = 'visually-hidden'
  const focused = document.activeElement
  // Beside the button: a dialog takes the focus back from anything outside of it.
  const home = focused?.parentElement ?? document.body
  home.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return copied
}

/** An id to read, compare and copy. */
export const Identifier = ({ id, of }: { id: string; of: string }) => (
  <span className="inline-flex max-w-full items-center gap-1">
    <code>
      {/* Where it has no room, it breaks after its prefix rather than before its last letters. */}
      {id.slice(0, id.indexOf('_') + 1)}
      <wbr />
      <Breakable text={id.slice(id.indexOf('_') + 1)} />
    </code>
    <CopyButton text={id} of={of} />
  </span>
)

/** Code to read and to copy, below a bar that names it. Long lines wrap, so nothing of it is out of sight. */
export const CodeBlock = ({ code, of }: { code: string; of: string }) => (
  <figure className="code">
    <figcaption className="code-bar">
      {of.replace(/^(the|a) /, '')}
      <CopyButton text={code} of={of} />
    </figcaption>
    <CodeLines code={code} />
  </figure>
)

/** What follows the end of a line is set further in than its beginning, but never out of a phone's screen. */
const INDENT_MAX = 12

/** The lines of code; what has no room in its line continues below it, indented. */
export const CodeLines = ({ code }: { code: string }) => (
  <pre>
    <code>
      {code.split('\n').map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a text have no other name
        <Fragment key={index}>
          {index > 0 && '\n'}
          <span className="code-line" style={{ '--indent': `${indentOf(line)}ch` } as CSSProperties}>
            {line}
          </span>
        </Fragment>
      ))}
    </code>
  </pre>
)

const indentOf = (line: string): number => Math.min(INDENT_MAX, line.length - line.trimStart().length)
