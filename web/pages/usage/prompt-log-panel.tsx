import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { promptLogQuery } from '../../api/queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { CodeBlock } from '../../components/text/copy.tsx'
import { formatMoment } from '../../lib/format.ts'

/** What was asked and answered with a call whose key keeps it; fetched when somebody asks to see it. */
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

function PromptLog({ callId }: { callId: string }) {
  return (
    <QueryView query={useQuery({ ...promptLogQuery(callId), gcTime: 0 })}>
      {(log) => (
        <div className="stack">
          <h3>Request</h3>
          <CodeBlock code={indented(log.request)} of="the request" wraps />
          {log.request_truncated && <p className="text-sm text-muted">The request was shortened.</p>}
          <h3>Answer</h3>
          <CodeBlock code={indented(log.answer)} of="the answer" wraps />
          {log.answer_truncated && <p className="text-sm text-muted">The answer was shortened.</p>}
        </div>
      )}
    </QueryView>
  )
}

/** JSON that was cut off is shown as it is. */
function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
