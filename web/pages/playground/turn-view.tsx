import { Pencil, RotateCcw, ThumbsDown, ThumbsUp } from 'lucide-react'
import { type RefObject, useRef } from 'react'
import { path, requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import { Button } from '../../components/form/button.tsx'
import { CopyButton } from '../../components/text/copy.tsx'
import { isRunning, wantsResults } from '../../lib/playground/completion.ts'
import type { Lane, Turn, UserMessage } from '../../lib/playground/conversation.ts'
import { CompletionView } from './completion-view.tsx'
import { ToolCalls } from './tool-calls.tsx'

interface TurnViewProps {
  turn: Turn
  place: RefObject<HTMLLIElement | null> | undefined
  isLast: boolean
  isBusy: boolean
  onResend: (message: UserMessage) => void
  onRetry: (lane: number) => void
  onResults: (lane: number, results: string[]) => void
}

/** A user message and the completions of each model below it, side by side where there is room. */
export function TurnView(props: TurnViewProps) {
  const { turn, place, isLast, isBusy, onResend, onRetry, onResults } = props
  return (
    <li ref={place} className={`stack content-start gap-4 ${isLast ? 'min-h-[60dvh]' : ''}`}>
      <Said turn={turn} isBusy={isBusy} onResend={onResend} />
      <div className={turn.lanes.length > 1 ? 'columns gap-4 [--column:17rem]' : 'stack'}>
        {turn.lanes.map((lane, index) => (
          <LaneView
            // biome-ignore lint/suspicious/noArrayIndexKey: lanes keep their order, and one model may have two
            key={index}
            lane={lane}
            isLast={isLast}
            isBusy={isBusy}
            onRetry={() => onRetry(index)}
            onResults={(results) => onResults(index, results)}
          />
        ))}
      </div>
    </li>
  )
}

function Said({ turn, isBusy, onResend }: Pick<TurnViewProps, 'turn' | 'isBusy' | 'onResend'>) {
  const { text, images } = turn
  return (
    <div className="ml-auto flex max-w-[min(100%,44rem)] items-start gap-1">
      <Button
        icon={Pencil}
        size="small"
        about="Edit the message"
        disabled={isBusy}
        dialog={(close) => (
          <FormDialog
            title="Edit the message"
            submit="Send again"
            fields={{
              text: {
                label: 'Message',
                initial: text,
                rows: 6,
                exact: true,
                check: (typed) => (typed.trim() === '' && images.length === 0 ? 'Enter a message.' : null),
                hint: 'The conversation continues from here; what follows is replaced.',
              },
            }}
            send={async (edited) => onResend({ ...edited, images })}
            onClose={close}
          />
        )}
      />
      <div className="stack min-w-0 gap-2 rounded-lg bg-sunken px-4 py-3">
        <h2 className="sr-only">You</h2>
        {text !== '' && <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}
        {images.length > 0 && (
          <div className="row gap-2">
            {images.map((url, index) => (
              <img
                key={url}
                src={url}
                alt={`Attachment ${index + 1}`}
                className="max-h-40 max-w-full rounded-md"
              />
            ))}
          </div>
        )}
      </div>
    </div>
  )
}

function LaneView(props: {
  lane: Lane
  isLast: boolean
  isBusy: boolean
  onRetry: () => void
  onResults: (results: string[]) => void
}) {
  const { lane, isLast, isBusy, onRetry, onResults } = props
  const article = useRef<HTMLElement>(null)
  const last = lane.answers.at(-1)
  if (!last) return null
  // The pressed button is removed while the call runs.
  const stay = () => article.current?.focus({ preventScroll: true })
  const retry = () => {
    stay()
    onRetry()
  }
  const sendResults = (results: string[]) => {
    stay()
    onResults(results)
  }
  return (
    <article
      ref={article}
      tabIndex={-1}
      className="answer stack min-w-0 content-start gap-3 rounded-lg border border-line bg-surface p-4"
    >
      <header className="spread">
        <h2 className="min-w-0 text-sm font-semibold wrap-anywhere">{lane.model}</h2>
        {!isRunning(last) && (
          <span className="line gap-0">
            {lane.model === 'auto' && last.callId !== null && last.text !== '' && (
              <FeedbackButtons key={last.callId} callId={last.callId} />
            )}
            {last.text !== '' && <CopyButton text={last.text} of="the answer" />}
            {isLast && (
              <Button icon={RotateCcw} size="small" about="Retry" disabled={isBusy} onClick={retry} />
            )}
          </span>
        )}
      </header>
      {lane.answers.map((completion, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: answers keep their order
        <div key={index} className="stack gap-3">
          <CompletionView completion={completion} model={lane.model}>
            {completion.toolCalls.length > 0 && (
              <ToolCalls
                calls={completion.toolCalls}
                onResults={isLast && wantsResults(completion) ? sendResults : null}
              />
            )}
          </CompletionView>
        </div>
      ))}
    </article>
  )
}

const THUMBS = [
  { score: 'good', icon: ThumbsUp, about: 'Good answer' },
  { score: 'bad', icon: ThumbsDown, about: 'Bad answer' },
] as const

/** Thumbs for a call of `auto`, which learns from them. The last one counts. */
function FeedbackButtons({ callId }: { callId: string }) {
  const { run, isPending } = useAction({
    send: (score: 'good' | 'bad') =>
      requestJson('POST', path`/console/api/calls/${callId}/feedback`, { score }),
    done: 'Thank you. Your feedback is stored.',
  })
  return (
    <>
      {THUMBS.map(({ score, icon, about }) => (
        <Button
          key={score}
          {...{ icon, about }}
          size="small"
          disabled={isPending}
          onClick={() => run(score)}
        />
      ))}
    </>
  )
}
