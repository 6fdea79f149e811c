import { useEffect, useRef, useState } from 'react'
import { failureOf, jsonBody, messageOf, newReference } from '../../api/request.ts'
import { askPlayground } from './run-chat.ts'

interface TaskState {
  phase: 'idle' | 'running' | 'done' | 'failed' | 'stopped'
  /** Identifies the request. It is the key of the element that shows the response, which each request creates again. */
  id: string
  result: TaskResult | null
  error: string | null
}

/** Makes one call at a time to a surface whose response is not streamed. Leaving the page stops the call. */
export function useTask(surface: string, keyId: string) {
  const [state, setState] = useState<TaskState>({ phase: 'idle', id: '', result: null, error: null })
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (request: TaskRequest) => {
    const controller = new AbortController()
    running.current = controller
    const state = { id: newReference(), result: null, error: null }
    setState({ ...state, phase: 'running' })
    try {
      const result = await runTask(surface, keyId, request, controller.signal)
      setState({ ...state, phase: 'done', result })
    } catch (error) {
      const isStopped = controller.signal.aborted
      const message = error instanceof TypeError ? 'The connection broke.' : messageOf(error)
      setState({
        ...state,
        phase: isStopped ? 'stopped' : 'failed',
        error: isStopped ? null : message,
      })
    }
  }
  return { ...state, run, stop: () => running.current?.abort() }
}

/** What is sent: a JSON body, or the fields of a form. */
export type TaskRequest = { body: Record<string, unknown> } | { form: FormFields }

/** In their order; one name may come several times. */
export type FormFields = ReadonlyArray<readonly [name: string, value: string | File]>

/** A response, by the type of its content. */
export type TaskResponse =
  | { kind: 'json'; value: unknown }
  | { kind: 'text'; text: string }
  | { kind: 'file'; blob: Blob }

export interface TaskResult {
  response: TaskResponse
  callId: string | null
  durationMs: number
}

/** Calls a surface whose response is not streamed. Throws RequestFailure on a refusal, and AbortError when it is stopped. */
async function runTask(
  surface: string,
  keyId: string,
  request: TaskRequest,
  signal: AbortSignal,
): Promise<TaskResult> {
  const startedAt = performance.now()
  const sent = 'body' in request ? jsonBody(request.body) : { body: formDataOf(request.form) }
  const received = await askPlayground(surface, keyId, { ...sent, signal })
  if (!received.ok) throw await failureOf(received)
  const response = await readResponse(received)
  return { response, callId: received.headers.get('x-call-id'), durationMs: performance.now() - startedAt }
}

function formDataOf(fields: FormFields): FormData {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  return form
}

async function readResponse(response: Response): Promise<TaskResponse> {
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('application/json')) return { kind: 'json', value: await response.json() }
  if (type.startsWith('text/')) return { kind: 'text', text: await response.text() }
  return { kind: 'file', blob: await response.blob() }
}
