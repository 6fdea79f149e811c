import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { callQuery } from '../../api/queries.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { CopyButton } from '../../components/text/copy.tsx'
import { Money, Stats } from '../../components/text/values.tsx'
import { formatCount, formatDuration } from '../../lib/format.ts'
import type { PlaygroundState } from './use-playground-call.ts'

const ANNOUNCED: Record<PlaygroundState['phase'], string> = {
  idle: '',
  waiting: 'Waiting for the first token.',
  streaming: 'The completion is streaming.',
  done: 'The completion is whole.',
  failed: '',
  stopped: 'Stopped.',
}

/** The completion as it streams in, with times as measured in this browser, and tokens and cost as charged. */
export function Completion({ state }: { state: PlaygroundState }) {
  return (
    <Panel
      title="Completion"
      padded
      actions={state.phase === 'done' && <CopyButton text={state.text} of="the completion" label="Copy" />}
    >
      <p className="visually-hidden" role="status">
        {ANNOUNCED[state.phase]}
      </p>
      {state.phase === 'idle' && <p className="muted">The completion appears here, token by token.</p>}
      {state.phase === 'waiting' && <span className="skeleton skeleton-line" />}
      {state.text !== '' && (
        <div className="completion-text" data-streaming={state.phase === 'streaming'}>
          {state.text}
        </div>
      )}
      {state.phase === 'stopped' && <Note>You stopped it. The tokens received until then are charged.</Note>}
      {state.finishReason === 'length' && <Note tone="warn">It was cut off at the token limit.</Note>}
      {state.error && (
        <Note tone="bad" announce>
          {state.error}
        </Note>
      )}
      {state.phase !== 'idle' && state.phase !== 'waiting' && <CallStats state={state} />}
    </Panel>
  )
}

function CallStats({ state }: { state: PlaygroundState }) {
  const hasEnded = state.phase !== 'streaming'
  const { data: call, error } = useQuery({
    ...callQuery(state.callId ?? ''),
    enabled: hasEnded && state.callId !== null,
  })
  const tokens = (count: number | undefined) => (count === undefined ? '–' : formatCount(count))
  const isSettling = hasEnded && state.callId !== null && !error
  return (
    <>
      <Stats
        className="completion-stats"
        rows={{
          'First token': formatDuration(state.firstTokenMs),
          Duration: state.durationMs === null ? '…' : formatDuration(state.durationMs),
          'Tokens in': tokens(call?.prompt_tokens ?? state.usage?.promptTokens),
          'Tokens out': tokens(call?.completion_tokens ?? state.usage?.completionTokens),
          Cost: !call && isSettling ? 'settling …' : <Money usd={call?.cost_usd} />,
        }}
      />
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
