import { failureOf, jsonBody } from '../../api/request.ts'
import { askPlayground } from './ask-playground.ts'

/** What is sent: a JSON body, or the fields of a form. */
export type TaskRequest = { body: Record<string, unknown> } | { form: FormFields }

/** In their order; one name may come several times. */
export type FormFields = ReadonlyArray<readonly [name: string, value: string | File]>

/** What came back, by the type of its content. */
export type TaskAnswer =
  | { kind: 'json'; value: unknown }
  | { kind: 'text'; text: string }
  | { kind: 'file'; blob: Blob }

export interface TaskResult {
  answer: TaskAnswer
  callId: string | null
  durationMs: number
}

/** Calls a surface that answers as a whole. Throws RequestFailure on a refusal, and AbortError when it is stopped. */
export async function runTask(
  surface: string,
  keyId: string,
  request: TaskRequest,
  signal: AbortSignal,
): Promise<TaskResult> {
  const startedAt = performance.now()
  const sent = 'body' in request ? jsonBody(request.body) : { body: formDataOf(request.form) }
  const response = await askPlayground(surface, keyId, { ...sent, signal })
  if (!response.ok) throw await failureOf(response)
  const answer = await answerOf(response)
  return { answer, callId: response.headers.get('x-call-id'), durationMs: performance.now() - startedAt }
}

function formDataOf(fields: FormFields): FormData {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  return form
}

async function answerOf(response: Response): Promise<TaskAnswer> {
  const type = response.headers.get('content-type') ?? ''
  if (type.startsWith('application/json')) return { kind: 'json', value: await response.json() }
  if (type.startsWith('text/')) return { kind: 'text', text: await response.text() }
  return { kind: 'file', blob: await response.blob() }
}
