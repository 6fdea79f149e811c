import type { PromptLogView } from '../../../src/core/api/calls.ts'
import { exampleRequest } from '../models/model-example.ts'
import { type ChatSettings, NO_SETTINGS } from '../playground/chat-settings.ts'
import { curlCode, type ShownRequest, withoutFiles } from '../playground/request-code.ts'

type Body = Record<string, unknown>

/** Settings that the playground takes as the request had them. */
const NUMBERS = ['temperature', 'top_p', 'max_tokens', 'seed'] as const

/** A call for the playground: its model and settings, and what the user said last where the request was logged. */
export function replayOf(model: string, log: PromptLogView | null): { settings: ChatSettings; text: string } {
  const body = bodyOf(log) ?? {}
  const messages = (Array.isArray(body.messages) ? body.messages : []) as Body[]
  const system = messages.find(({ role }) => role === 'system' || role === 'developer')
  const numbers = NUMBERS.filter((name) => typeof body[name] === 'number')
  return {
    settings: {
      ...NO_SETTINGS,
      ...Object.fromEntries(numbers.map((name) => [name, String(body[name])])),
      system: textOf(system?.content ?? body.system),
      models: [model],
    },
    text: textOf(messages.findLast(({ role }) => role === 'user')?.content ?? body.input),
  }
}

/** A call as a command for curl; without a log of its request with an example in place of it. `kind`: of the model. */
export function curlOf(
  model: string,
  kind: string | undefined,
  log: PromptLogView | null,
  origin: string,
): string {
  const body = bodyOf(log)
  const example = exampleRequest({ id: model, ...(kind !== undefined && { kind }) }, origin)
  const request: ShownRequest =
    body === null || example !== null
      ? (example ?? { origin, path: '/v1/chat/completions', body: { model, messages: EXAMPLE } })
      : { origin, path: pathOf(body), body: withoutFiles(body) }
  return curlCode(request)
}

const EXAMPLE = [{ role: 'user', content: 'Your message' }]

/** The wire that a request was written for, by the fields that only it has. */
function pathOf(body: Body): string {
  if ('input' in body) return '/v2/responses'
  return 'system' in body || 'stop_sequences' in body || 'thinking' in body
    ? '/v2/messages'
    : '/v2/chat/completions'
}

/** The logged request; null: there is none, it was shortened, or it names its model in the path. */
function bodyOf(log: PromptLogView | null): Body | null {
  if (log === null || log.request_truncated) return null
  const body: unknown = JSON.parse(log.request)
  return typeof body === 'object' && body !== null && 'model' in body ? (body as Body) : null
}

/** The text of a message, whose content may be parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = (Array.isArray(content) ? content : []) as Body[]
  return parts
    .map(({ text }) => text)
    .filter((text) => typeof text === 'string')
    .join('\n')
}
