import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { callQuery } from '../../api/queries.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Money } from '../../components/money.tsx'
import { Note } from '../../components/note.tsx'
import { Panel } from '../../components/panel.tsx'
import { formatCount, formatDuration } from '../../lib/figures.ts'
import type { PlaygroundState } from './use-playground-call.ts'

const ANNOUNCED: Record<PlaygroundState['phase'], string> = {
  idle: '',
  waiting: 'Waiting for the first token.',
  streaming: 'The answer is coming in.',
  done: 'The answer is complete.',
  failed: '',
  stopped: 'Stopped.',
}

/** The answer as it comes in, and what it took: times as this browser saw them, tokens and cost as charged. */
export function Answer({ state }: { state: PlaygroundState }) {
  return (
    <Panel
      title="Answer"
      className="playground-answer"
      actions={state.phase === 'done' && <CopyButton text={state.text} of="the answer" label="Copy" />}
    >
      <div className="panel-body">
        <p className="visually-hidden" role="status">
          {ANNOUNCED[state.phase]}
        </p>
        {state.phase === 'idle' && <p className="muted">The answer appears here, token by token.</p>}
        {state.phase === 'waiting' && <span className="skeleton skeleton-line" />}
        {state.text !== '' && (
          <div className="answer-text" data-streaming={state.phase === 'streaming'}>
            {state.text}
          </div>
        )}
        {state.phase === 'stopped' && <Note>You stopped it. What had come in until then is charged.</Note>}
        {state.finishReason === 'length' && <Note tone="warn">It was cut off at the limit of tokens.</Note>}
        {state.error && (
          <Note tone="bad" announce>
            {state.error}
          </Note>
        )}
        {state.phase !== 'idle' && state.phase !== 'waiting' && <Figures state={state} />}
      </div>
    </Panel>
  )
}

function Figures({ state }: { state: PlaygroundState }) {
  const hasEnded = state.phase !== 'streaming'
  const { data: call, error } = useQuery({
    ...callQuery(state.callId ?? '', { awaitSettling: true }),
    enabled: hasEnded && state.callId !== null,
  })
  const promptTokens = call?.prompt_tokens ?? state.usage?.promptTokens
  const completionTokens = call?.completion_tokens ?? state.usage?.completionTokens
  return (
    <>
      <dl className="figures answer-figures">
        <div className="figure">
          <dt>First token</dt>
          <dd>{state.firstTokenMs === null ? '–' : formatDuration(state.firstTokenMs)}</dd>
        </div>
        <div className="figure">
          <dt>Duration</dt>
          <dd>{state.durationMs === null ? '…' : formatDuration(state.durationMs)}</dd>
        </div>
        <div className="figure">
          <dt>Tokens in</dt>
          <dd>{promptTokens === undefined ? '–' : formatCount(promptTokens)}</dd>
        </div>
        <div className="figure">
          <dt>Tokens out</dt>
          <dd>{completionTokens === undefined ? '–' : formatCount(completionTokens)}</dd>
        </div>
        <div className="figure">
          <dt>Cost</dt>
          <dd>
            {call ? <Money usd={call.cost_usd} /> : hasEnded && state.callId && !error ? 'settling …' : '–'}
          </dd>
        </div>
      </dl>
      {call && (
        <p className="small">
          <Link to="/calls/$id" params={{ id: call.id }}>
            Details of this call
          </Link>
        </p>
      )}
    </>
  )
}
