import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { promptLogQuery } from '../../api/queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { CodeBlock } from '../../components/text/copy.tsx'
import { formatMoment } from '../../lib/format.ts'

/** The logged prompt and completion of a call. They are read only when the reader asks to see them. */
export function PromptLogPanel({ callId, until }: { callId: string; until: string }) {
  const [isShown, setIsShown] = useState(false)
  return (
    <Panel title="Prompt and answer" padded>
      <p className="text-sm text-muted">
        Stored because prompt logging was on for the key. Deleted on {formatMoment(until)}.
      </p>
      {isShown ? <PromptLog callId={callId} /> : <Button onClick={() => setIsShown(true)}>Show</Button>}
    </Panel>
  )
}

const PromptLog = ({ callId }: { callId: string }) => (
  <QueryView query={useQuery({ ...promptLogQuery(callId), gcTime: 0 })}>
    {(log) => (
      <div className="stack">
        <h3>Request</h3>
        <CodeBlock code={indented(log.request)} of="the request" />
        {log.request_truncated && <p className="text-sm text-muted">The request was shortened.</p>}
        <h3>Answer</h3>
        <CodeBlock code={indented(log.answer)} of="the answer" />
        {log.answer_truncated && <p className="text-sm text-muted">The answer was shortened.</p>}
      </div>
    )}
  </QueryView>
)

/** Indents JSON; a truncated text is shown unchanged. */
function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
