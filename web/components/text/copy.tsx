import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'

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
    <code className="wrap-anywhere">{id}</code>
    <CopyButton text={id} of={of} />
  </span>
)

/** Code to read and to copy. It scrolls sideways, so it takes the focus for keyboards. */
export const CodeBlock = ({ code, of, wraps = false }: { code: string; of: string; wraps?: boolean }) => (
  <div className="code">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
    <section className="overflow-x-auto -outline-offset-3" tabIndex={0} aria-label={`Code: ${of}`}>
      <pre className={wraps ? 'w-auto wrap-anywhere whitespace-pre-wrap' : 'w-max'}>
        <code>{code}</code>
      </pre>
    </section>
    <CopyButton text={code} of={of} />
  </div>
)
