import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { callQuery } from '../../api/queries.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatDuration } from '../../lib/format.ts'
import { type CatalogModel, findModel } from '../../lib/models/model-catalog.ts'
import type { ShownRequest } from '../../lib/playground/request-code.ts'
import { CodeDialog } from './code-dialog.tsx'
import { ModelPicker } from './model-picker.tsx'
import type { TaskAnswer, TaskRequest, TaskResult } from './run-task.ts'
import { useTask } from './use-task.ts'

/** What every tab of a surface that answers as a whole is given. */
export interface TaskTabProps {
  /** Its id. */
  surface: string
  /** Where the API has it. */
  path: string
  keyId: string
  /** Those that are for it. */
  models: readonly CatalogModel[]
  /** The model to begin with, where it is one of them. */
  initialModel: string
}

/** The form of such a surface beside its answer: the fields are the tab's own. */
export function TaskFrame(
  props: TaskTabProps & {
    /** What is sent; null: the fields are not filled in. */
    request: (model: string) => TaskRequest | null
    /** The name of the file that is answered. */
    output?: string
    show: (answer: TaskAnswer) => ReactNode
    onSend?: () => void
    /** The fields, which may depend on the model. */
    children: ReactNode | ((model: CatalogModel | undefined) => ReactNode)
  },
) {
  const { surface, path, keyId, models, initialModel, request, output, show, onSend, children } = props
  const [chosen, setChosen] = useState<string | null>(null)
  const [showsCode, setShowsCode] = useState(false)
  const task = useTask(surface, keyId)
  const isRunning = task.phase === 'running'
  const outcome = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // On a phone it stands below the form.
    if (task.phase !== 'idle') outcome.current?.scrollIntoView({ block: 'nearest', behavior: 'smooth' })
  }, [task.phase])
  const first = findModel(models, initialModel) ?? models.find(({ status }) => status === 'available')
  const model = chosen ?? first?.id ?? ''
  const ready = model === '' ? null : request(model)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!ready || isRunning) return
    onSend?.()
    void task.run(ready)
  }
  return (
    <div className="grid grid-cols-1 items-start gap-6 xl:grid-cols-[1fr_1.3fr]">
      <section className="panel" aria-label="Request">
        <form className="panel-body" onSubmit={submit}>
          {model === '' ? (
            <p>No model for this is available.</p>
          ) : (
            <div>
              <ModelPicker label="Model" model={model} models={models} onChange={setChosen} />
            </div>
          )}
          {typeof children === 'function' ? children(models.find(({ id }) => id === model)) : children}
          <div className="row">
            {isRunning ? (
              <Button size="large" onClick={task.stop}>
                Stop
              </Button>
            ) : (
              <Button kind="primary" size="large" disabled={ready === null}>
                Send
              </Button>
            )}
            <Button kind="quiet" disabled={ready === null} onClick={() => setShowsCode(true)}>
              Code
            </Button>
          </div>
        </form>
      </section>
      <div ref={outcome}>
        <Panel title="Result" padded>
          <p className="sr-only" role="status">
            {isRunning && 'Waiting for the result.'}
            {task.phase === 'done' && 'The result is here.'}
          </p>
          {task.phase === 'idle' && <p className="text-muted">The result appears here.</p>}
          {isRunning && <span className="skeleton h-[1.1rem]" />}
          {task.phase === 'stopped' && <Note>Stopped. What was made until then may be charged.</Note>}
          {task.error !== null && (
            <Note tone="bad" announce>
              {task.error}
            </Note>
          )}
          {task.result && (
            <div key={task.id} className="stack">
              {show(task.result.answer)}
              <TaskFacts result={task.result} />
            </div>
          )}
        </Panel>
      </div>
      {showsCode && ready && (
        <CodeDialog
          requests={{ [model]: { path, ...shownOf(ready), ...(output !== undefined && { output }) } }}
          onClose={() => setShowsCode(false)}
        />
      )}
    </div>
  )
}

/** As programs send it. */
function shownOf(request: TaskRequest): Pick<ShownRequest, 'body' | 'form'> {
  if ('body' in request) return { body: request.body }
  return {
    form: request.form.map(([field, value]) => [
      field,
      typeof value === 'string' ? value : { file: value.name },
    ]),
  }
}

function TaskFacts({ result: { callId, durationMs } }: { result: TaskResult }) {
  const { data: call, isLoading } = useQuery({ ...callQuery(callId ?? ''), enabled: callId !== null })
  return (
    <div className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
      <dl className="contents">
        <div className="flex gap-1">
          <dt className="text-muted">Total</dt>
          <dd className="tabular-nums">{formatDuration(durationMs)}</dd>
        </div>
        <div className="flex gap-1">
          <dt className="text-muted">Cost</dt>
          <dd className="tabular-nums">{isLoading ? 'settling …' : <Money usd={call?.cost_usd} />}</dd>
        </div>
      </dl>
      {callId && (
        <Link to="/calls/$id" params={{ id: callId }}>
          Details
        </Link>
      )}
    </div>
  )
}
