import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { callQuery } from '../../api/queries.ts'
import { Note } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatDuration } from '../../lib/format.ts'
import { type CatalogModel, findModel } from '../../lib/models/model-catalog.ts'
import type { ShownRequest } from '../../lib/playground/request-code.ts'
import { CallFacts } from './completion-view.tsx'
import { ModelPicker } from './model-picker.tsx'
import { CodeDialog } from './share-dialogs.tsx'
import { type TaskRequest, type TaskResponse, type TaskResult, useTask } from './use-task.ts'

/** The props of every tab of a surface whose response is not streamed. */
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

/** The form of such a surface beside its response. The tab declares the fields. */
export function TaskFrame(
  props: TaskTabProps & {
    /** What is sent; null: the fields are not filled in. */
    request: (model: string) => TaskRequest | null
    /** The file name of the response, if it is a file. */
    output?: string
    show: (response: TaskResponse) => ReactNode
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
              {show(task.result.response)}
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
  const cost = isLoading ? 'settling …' : <Money usd={call?.cost_usd} />
  return <CallFacts callId={callId} facts={{ Total: formatDuration(durationMs), Cost: cost }} />
}
