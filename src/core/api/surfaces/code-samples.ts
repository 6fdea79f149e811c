import { SURFACE_EXAMPLES } from './surface-examples.ts'
import type { Surface } from './surface-registry.ts'

/** An entry of `x-codeSamples` of an OpenAPI operation. */
export interface CodeSample {
  lang: 'Shell' | 'Python' | 'JavaScript'
  label: string
  source: string
}

/** The environment variable of the API key in samples. */
const KEY = 'SHUNTYARD_API_KEY'

type Sampled = Pick<Surface, 'handler' | 'method' | 'path' | 'status'>

/** The example of a surface as programs, for the gateway at this origin. */
export function codeSamples(surface: Sampled, origin: string): CodeSample[] {
  const request = sampleRequest(surface, origin)
  return [
    { lang: 'Shell', label: 'curl', source: curl(request) },
    { lang: 'Python', label: 'Python', source: python(request) },
    { lang: 'JavaScript', label: 'JavaScript', source: javascript(request) },
  ]
}

type SampleRequest = ReturnType<typeof sampleRequest>

function sampleRequest({ handler, method, path, status }: Sampled, origin: string) {
  const { path: values = {}, query, ...content } = SURFACE_EXAMPLES[handler] ?? {}
  const filled = path.replace(/\{(\w+)\}/g, (name, field) => values[field] ?? name)
  const search = query ? `?${new URLSearchParams(query)}` : ''
  return { ...content, method, url: origin + filled + search, hasKey: status !== 'Public' }
}

function curl({ method, url, hasKey, body, form, output }: SampleRequest): string {
  const isDefault = method === (body || form ? 'POST' : 'GET')
  return [
    `curl ${isDefault ? '' : `-X ${method} `}${shellQuoted(url)}`,
    ...(hasKey ? [`-H "Authorization: Bearer $${KEY}"`] : []),
    ...(body ? [`-H 'Content-Type: application/json'`, `-d ${shellQuoted(JSON.stringify(body))}`] : []),
    ...Object.entries(form ?? {}).map(([name, value]) => `-F ${shellQuoted(`${name}=${value}`)}`),
    ...(output ? [`--output ${shellQuoted(output)}`] : []),
  ].join(' \\\n  ')
}

function python({ method, url, hasKey, body, form, output }: SampleRequest): string {
  const fields = Object.entries(form ?? {})
  const files = fields.filter(([, value]) => value.startsWith('@'))
  const data = Object.fromEntries(fields.filter(([, value]) => !value.startsWith('@')))
  const opened = files.map(
    ([name, value]) => `${pythonLiteral(name)}: open(${pythonLiteral(value.slice(1))}, "rb")`,
  )
  return [
    ...(hasKey ? ['import os', ''] : []),
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    ${pythonLiteral(url)},`,
    ...(hasKey ? [`    headers={"Authorization": f"Bearer {os.environ['${KEY}']}"},`] : []),
    ...(body ? [`    json=${pythonLiteral(body)},`] : []),
    ...(Object.keys(data).length > 0 ? [`    data=${pythonLiteral(data)},`] : []),
    ...(opened.length > 0 ? [`    files={${opened.join(', ')}},`] : []),
    ')',
    'response.raise_for_status()',
    output ? `open(${pythonLiteral(output)}, "wb").write(response.content)` : 'print(response.text)',
  ].join('\n')
}

function javascript({ method, url, hasKey, body, form, output }: SampleRequest): string {
  const fields = Object.entries(form ?? {})
  const headers = [
    ...(hasKey ? [`Authorization: \`Bearer $\{process.env.${KEY}}\``] : []),
    ...(body ? [`'Content-Type': 'application/json'`] : []),
  ]
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length > 0 ? [`  headers: { ${headers.join(', ')} },`] : []),
    ...(body ? [`  body: JSON.stringify(${JSON.stringify(body)}),`] : []),
    ...(form ? ['  body: form,'] : []),
  ]
  const isFile = (value: string) => value.startsWith('@')
  return [
    ...(fields.some(([, value]) => isFile(value)) ? [`import { openAsBlob } from 'node:fs'`] : []),
    ...(output ? [`import { writeFile } from 'node:fs/promises'`] : []),
    ...(form ? ['const form = new FormData()'] : []),
    ...fields.map(([name, value]) => {
      const [field, text] = [JSON.stringify(name), JSON.stringify(isFile(value) ? value.slice(1) : value)]
      return `form.append(${field}, ${isFile(value) ? `await openAsBlob(${text}), ${text}` : text})`
    }),
    ...(options.length > 0
      ? [`const response = await fetch(${JSON.stringify(url)}, {`, ...options, '})']
      : [`const response = await fetch(${JSON.stringify(url)})`]),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is one in the sample
    'if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)',
    output
      ? `await writeFile(${JSON.stringify(output)}, new Uint8Array(await response.arrayBuffer()))`
      : 'console.log(await response.text())',
  ].join('\n')
}

/** JSON is valid Python except for three words. */
function pythonLiteral(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}: ${pythonLiteral(field)}`,
  )
  return `{${fields.join(', ')}}`
}

/** For a POSIX shell, where only a single quote is special inside single quotes. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
