import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useDeferredValue } from 'react'
import { callQuery, sessionQuery } from '../../api/queries.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatCount, formatDuration } from '../../lib/format.ts'
import { type Completion, isRunning } from '../../lib/playground/completion.ts'

const Markdown = lazy(async () => ({ default: (await import('./markdown.tsx')).Markdown }))

const ANNOUNCED: Record<Completion['phase'], string> = {
  waiting: 'Waiting for the first token.',
  streaming: 'The answer is streaming.',
  done: 'The answer is complete.',
  failed: '',
  stopped: 'Stopped.',
}

/** A completion as it streams in, with a note if it is incomplete. `children` is shown below its text. */
export function CompletionView(props: { completion: Completion; model: string; children: ReactNode }) {
  const { completion, model, children } = props
  const { phase, text, reasoning, toolCalls, error, finishReason, affordedLimit } = completion
  // Long texts are rendered with lower priority.
  const shownText = useDeferredValue(text)
  const isPartial = text !== '' || reasoning !== '' || toolCalls.length > 0
  return (
    <>
      <p className="sr-only" role="status">
        {ANNOUNCED[phase] && `${model}: ${ANNOUNCED[phase]}`}
      </p>
      {phase === 'waiting' && <span className="skeleton h-[1.1rem]" />}
      {reasoning !== '' && (
        <details className="disclosure text-sm">
          <summary>Reasoning</summary>
          <p className="mt-1 border-l-2 border-line pl-3 wrap-anywhere whitespace-pre-wrap text-soft">
            {reasoning}
          </p>
        </details>
      )}
      {text !== '' && (
        <div className="completion-text max-w-[75ch] min-w-0" data-streaming={phase === 'streaming'}>
          <Suspense fallback={<p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}>
            <Markdown text={shownText} />
          </Suspense>
        </div>
      )}
      {phase === 'stopped' && (
        <Note>
          {isPartial
            ? 'Stopped: the answer is incomplete. The tokens received until then are charged.'
            : 'Stopped before the first token.'}
        </Note>
      )}
      {phase === 'done' && finishReason === 'length' && <CutOff at={affordedLimit} />}
      {phase === 'done' && finishReason === 'content_filter' && (
        <Note tone="warn">Cut off by the provider’s content filter.</Note>
      )}
      {phase === 'failed' && (
        <Note tone="bad" announce>
          {isPartial && <strong>The answer is incomplete. </strong>}
          {error}
        </Note>
      )}
      {children}
      {!isRunning(completion) && <CompletionFacts completion={completion} />}
    </>
  )
}

/** `at`: the output limit that the balance or budget allowed; undefined if it was not reduced. */
function CutOff({ at }: { at: number | undefined }) {
  const { data: session } = useQuery(sessionQuery)
  if (at === undefined)
    return <Note tone="warn">Cut off at the output limit: your setting or the model’s maximum.</Note>
  return (
    <Note tone="warn">
      The answer was limited to {formatCount(at)} tokens, which is what your balance or budget affords.{' '}
      {session?.permissions.includes('billing') && <Link to="/billing">Top up</Link>}
    </Note>
  )
}

/** Times as measured in this browser; tokens and cost as charged. */
function CompletionFacts({ completion }: { completion: Completion }) {
  const { callId, usage, firstTokenMs, durationMs } = completion
  // A stream that was cut off has no usage; the cost is read from the settled call.
  const isCostUnknown = callId !== null && usage?.costUsd == null
  const { data: call, isLoading } = useQuery({ ...callQuery(callId ?? ''), enabled: isCostUnknown })
  const tokens = (count: number | undefined) => (count === undefined ? '–' : formatCount(count))
  const cost = usage?.costUsd ?? call?.cost_usd
  const facts = {
    'First token in browser': formatDuration(firstTokenMs),
    'Total in browser': formatDuration(durationMs),
    'Input tokens': tokens(usage?.promptTokens ?? call?.usage.prompt_tokens),
    'Output tokens': tokens(usage?.completionTokens ?? call?.usage.completion_tokens),
    Cost: cost === undefined && isLoading ? 'settling …' : <Money usd={cost} />,
  }
  return (
    <div className="answer-facts flex flex-wrap gap-x-4 gap-y-1 text-sm">
      <dl className="contents">
        {Object.entries(facts).map(([name, value]) => (
          <div key={name} className="flex gap-1">
            <dt className="text-muted">{name}</dt>
            <dd className="tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
      {callId && (
        <Link to="/calls/$id" params={{ id: callId }}>
          Details
        </Link>
      )}
    </div>
  )
}
