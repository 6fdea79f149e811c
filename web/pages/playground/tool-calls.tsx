import { useState } from 'react'
import { Button } from '../../components/form/button.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { CodeBlock } from '../../components/text/copy.tsx'
import type { ToolCall } from '../../lib/playground/completion.ts'

/** The tools that a model calls. With `onResults`, their results are entered here and sent on together. */
export function ToolCalls(props: {
  calls: readonly ToolCall[]
  onResults: ((results: string[]) => void) | null
}) {
  const { calls, onResults } = props
  const [results, setResults] = useState<Record<number, string>>({})
  return (
    <form
      className="stack gap-3 rounded-md border border-line p-3"
      aria-label="Tool calls"
      onSubmit={(event) => {
        event.preventDefault()
        onResults?.(calls.map((_, index) => results[index] ?? ''))
      }}
    >
      {calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls keep their order
        <div key={index} className="stack gap-2">
          <p>
            Calls <code className="font-semibold wrap-anywhere">{call.name}</code>
          </p>
          <CodeBlock code={prettyJson(call.arguments)} of={`the arguments of ${call.name}`} />
          {onResults ? (
            <TextField
              label={`Result of ${call.name}`}
              value={results[index] ?? ''}
              onChange={(text) => setResults({ ...results, [index]: text })}
              rows={2}
              placeholder="Text or JSON"
            />
          ) : (
            call.result !== null && (
              <p className="text-sm wrap-anywhere whitespace-pre-wrap">
                <span className="text-muted">Result:</span> {call.result}
              </p>
            )
          )}
        </div>
      ))}
      {onResults && (
        <div className="row">
          <Button kind="primary" size="small">
            {calls.length === 1 ? 'Send the result' : 'Send the results'}
          </Button>
        </div>
      )}
    </form>
  )
}

/** JSON with line breaks; what is none, as it is. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    // The model wrote it; it is shown as written.
    return text
  }
}
