import type { IncomingHttpHeaders } from 'node:http'
import type { Behaviour } from '../behaviour.ts'
import type { WholeBody } from '../response-plan.ts'
import { isObject } from '../simulated-request.ts'

/** A file of a multipart body. */
export interface SentFile {
  field: string
  name: string
  bytes: Buffer
}

/** The body of a request that is no chat: JSON, or the fields and files of a form. */
export interface TaskInput {
  model: string
  fields: Record<string, unknown>
  files: readonly SentFile[]
}

export interface TaskContext {
  behaviour: Behaviour
  provider: string
  id: string
  /** Unix seconds. */
  created: number
}

/** An endpoint whose response is not streamed. Its responses are a pure function of the request. */
export interface SimulatedTask {
  /** Null when a strict provider rejects the request with a 400. */
  reply(input: TaskInput, context: TaskContext): WholeBody | null
}

/** Null when the body is neither JSON nor a form, or names no model. */
export async function readTaskInput(bytes: Buffer, headers: IncomingHttpHeaders): Promise<TaskInput | null> {
  const contentType = headers['content-type'] ?? ''
  const read = contentType.startsWith('multipart/form-data') ? readForm : readJson
  const input = await read(bytes, contentType)
  const model = input?.fields.model
  return input && typeof model === 'string' ? { model, ...input } : null
}

async function readForm(bytes: Buffer, contentType: string): Promise<Omit<TaskInput, 'model'> | null> {
  const fields: Record<string, unknown> = {}
  const files: SentFile[] = []
  const body = new Uint8Array(bytes)
  const form = await new Response(body, { headers: { 'content-type': contentType } })
    .formData()
    .catch(() => null)
  if (!form) return null
  for (const [name, value] of form) {
    if (typeof value === 'string') {
      if (!name.endsWith('[]')) fields[name] = value
      else fields[name.slice(0, -2)] = [...listed(fields[name.slice(0, -2)]), value]
      continue
    }
    const field = name.endsWith('[]') ? name.slice(0, -2) : name
    files.push({ field, name: value.name, bytes: Buffer.from(await value.arrayBuffer()) })
  }
  return { fields, files }
}

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

function readJson(bytes: Buffer): Omit<TaskInput, 'model'> | null {
  try {
    const fields: unknown = JSON.parse(bytes.toString())
    return isObject(fields) ? { fields, files: [] } : null
  } catch {
    // Refused with 400, like any other invalid body.
    return null
  }
}

/** A JSON reply; with `broken-json` its last brace is missing. */
export function jsonReply(value: unknown, { brokenJson }: Behaviour): WholeBody {
  const text = JSON.stringify(value)
  return { contentType: 'application/json', body: brokenJson ? text.slice(0, -1) : text }
}

/** Bytes that are no file of any format. */
export const noise = (length: number): Buffer => Buffer.alloc(length, 'not what was asked for ')

const ABSURD = 1_000_000_000_000

/** A count as the behaviour reports it; undefined where it reports none. */
export function reportedCount(count: number, { usage }: Behaviour): number | undefined {
  switch (usage) {
    case 'missing':
      return undefined
    case 'absurd':
      return ABSURD
    case 'negative':
      return -count - 1
    case 'true':
      return count
  }
}

/** Whether a request has no other fields than these. */
export const hasOnly = (fields: Record<string, unknown>, known: readonly string[]): boolean =>
  Object.keys(fields).every((name) => known.includes(name))

const CHARACTERS_PER_TOKEN = 4

export const tokensOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Math.max(1, Math.ceil(text.length / CHARACTERS_PER_TOKEN)), 0)
