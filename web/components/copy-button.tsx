import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { copyText } from './copy-text.ts'

const SHOWN_MS = 2_000

/** Copies a text; says so on the button and to screen readers. `of` names what is copied: "the key". */
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
      {label ? state === 'copied' ? 'Copied' : label : <span className="visually-hidden">Copy {of}</span>}
      <span className="visually-hidden" role="status">
        {state === 'copied' && `Copied ${of}.`}
        {state === 'failed' && 'Copying failed. Select the text and copy it by hand.'}
      </span>
    </button>
  )
}
