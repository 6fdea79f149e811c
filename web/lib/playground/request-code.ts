import { shellQuoted } from '../curl-call.ts'
import type { SnippetLanguage } from '../snippets.ts'

/** A request to show as a program. Keys are never part of it: programs take theirs from the environment. */
export interface ShownRequest {
  /** The gateway's address without a path. */
  origin: string
  path: string
  /** A JSON body. */
  body?: Record<string, unknown>
  /** The fields of a form; files by their names. One field may come several times. */
  form?: ReadonlyArray<readonly [field: string, value: string | { file: string }]>
  /** The answer is a file: its name. */
  output?: string
}

/** The environment variable that programs take the key from. */
const KEY = 'SHUNTYARD_API_KEY'

/** A chat completion, for curl or in the usual client library. */
export function requestCode(language: SnippetLanguage, request: ShownRequest): string {
  switch (language) {
    case 'curl':
      return curlCode(request)
    case 'javascript':
      return chatJavascript(request)
    case 'python':
      return chatPython(request)
    default:
      return language satisfies never
  }
}

const IMAGE_CHARACTERS_MAX = 200

/** A body with long data: addresses cut down to placeholders. */
export const withoutFiles = (body: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(body), (_, value) =>
    typeof value === 'string' && value.startsWith('data:') && value.length > IMAGE_CHARACTERS_MAX
      ? `${value.slice(0, value.indexOf(',') + 1)}<base64 of the file>`
      : value,
  )

/** Any request for curl. */
export function curlCode({ origin, path, body, form, output }: ShownRequest): string {
  return [
    `curl ${shellQuoted(origin + path)}`,
    `-H "Authorization: Bearer $${KEY}"`,
    ...(body
      ? [`-H 'Content-Type: application/json'`, `-d ${shellQuoted(JSON.stringify(body, null, 2))}`]
      : []),
    ...(form ?? []).map(([field, value]) =>
      typeof value === 'string'
        ? `--form-string ${shellQuoted(`${field}=${value}`)}`
        : `-F ${shellQuoted(`${field}=@${value.file}`)}`,
    ),
    ...(output ? [`--output ${shellQuoted(output)}`] : []),
  ].join(' \\\n  ')
}

const baseOf = ({ origin, path }: ShownRequest): string => origin + path.replace('/chat/completions', '')

const chatPython = (request: ShownRequest): string => `import os

from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(baseOf(request))},
    api_key=os.environ["${KEY}"],
)
stream = client.chat.completions.create(
${keywords(request.body ?? {})}
)
for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        print(chunk.choices[0].delta.content, end="", flush=True)`

const chatJavascript = (request: ShownRequest): string => `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${JSON.stringify(baseOf(request))},
  apiKey: process.env.${KEY},
})
const stream = await client.chat.completions.create(${JSON.stringify(request.body, null, 2)})
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta?.content ?? '')
}`

const keywords = (body: Record<string, unknown>): string =>
  Object.entries(body)
    .map(([name, value]) => `    ${name}=${pythonLiteral(value, 4)},`)
    .join('\n')

/** JSON is Python but for three words. `indent`: of the line that it stands in. */
function pythonLiteral(value: unknown, indent: number): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const [pad, end] = [' '.repeat(indent + 4), ' '.repeat(indent)]
  const lines = Array.isArray(value)
    ? value.map((item) => `${pad}${pythonLiteral(item, indent + 4)},`)
    : Object.entries(value).map(
        ([name, field]) => `${pad}${JSON.stringify(name)}: ${pythonLiteral(field, indent + 4)},`,
      )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return lines.length === 0 ? open + close : `${open}\n${lines.join('\n')}\n${end}${close}`
}
