import { path, requestJson } from '../../api/request.ts'
import { useChange } from '../../api/use-change.ts'
import { ErrorNote, Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Money } from '../../components/text/money.tsx'
import { SNIPPET_PROMPT } from '../../lib/curl-call.ts'

interface Answer {
  choices: Array<{ message: { content: string | null } }>
  usage: { cost_usd?: string }
}

/** Makes the call of the snippet with the key, and shows the answer and what it cost. */
export function RunIt({ keyId }: { keyId: string }) {
  const send = () =>
    requestJson<Answer>('POST', path`/console/api/playground/chat-completions.extended?key_id=${keyId}`, {
      model: 'auto',
      messages: [{ role: 'user', content: SNIPPET_PROMPT }],
    })
  const { mutate, isPending, data, error } = useChange({ send, stale: ['/console/api/keys'] })
  return (
    <div className="stack">
      <div className="row">
        <Button kind="primary" disabled={isPending} onClick={() => mutate()}>
          {isPending ? 'Running …' : 'Run it'}
        </Button>
        <span className="text-sm text-muted">From here, with this key; charged like any call.</span>
      </div>
      <ErrorNote error={error} />
      {data && (
        <Note tone="good" announce>
          <p className="max-h-40 overflow-y-auto wrap-anywhere whitespace-pre-wrap">
            {data.choices[0]?.message.content}
          </p>
          <p className="text-sm text-muted">
            Your first call is made. It cost <Money usd={data.usage.cost_usd} />; see it under Usage.
          </p>
        </Note>
      )}
    </div>
  )
}
