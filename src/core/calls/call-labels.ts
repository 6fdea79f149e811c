import { cleanText } from '../kernel/clean-text.ts'

/**
 * The client's labels of a call for its own records, and what the gateway noted of its request: shown in its request
 * log, never forwarded to a provider. All of them are short, and absent if nothing usable was sent.
 */
export interface CallLabels {
  /** The app's name, from the header `X-Title`. */
  title?: string
  /** The app's URL, from the header `HTTP-Referer`: without query, fragment and credentials. */
  referer?: string
  /** From the body's `metadata`: names and texts. */
  metadata?: Record<string, string>
  /** The version of the preset that it used, `name@3`. */
  preset?: string
  /** The id of the conversation that it belongs to; see readConversationId. */
  session?: string
  /** The call whose response this one repeats, from the response cache. */
  cached?: string
  /** The project, tag and end user that it counts for; see readCallGroups. */
  groups?: string[]
}

const TITLE_CHARS_MAX = 100
const REFERER_CHARS_MAX = 200
const PAIRS_MAX = 8
const NAME_CHARS_MAX = 40
const VALUE_CHARS_MAX = 100

/**
 * Reads the labels of a request; undefined if there are none. Never rejects a request: the contract accepts `metadata`
 * of any type, so values other than texts are ignored, and long ones are truncated.
 */
export function readCallLabels(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: unknown,
  {
    preset,
    session,
    groups,
  }: { [Name in 'preset' | 'session' | 'groups']?: CallLabels[Name] | undefined } = {},
): CallLabels | undefined {
  const title = headerText(headers['x-title'], TITLE_CHARS_MAX)
  const referer = refererText(headers['http-referer'])
  const metadata = readMetadata(body)
  if (!(title ?? referer ?? metadata ?? preset ?? session ?? groups)) return undefined
  return {
    ...(title !== undefined && { title }),
    ...(referer !== undefined && { referer }),
    ...(metadata !== undefined && { metadata }),
    ...(preset !== undefined && { preset }),
    ...(session !== undefined && { session }),
    ...(groups !== undefined && { groups }),
  }
}

function headerText(given: string | string[] | undefined, charsMax: number): string | undefined {
  if (typeof given !== 'string') return undefined
  // Node reads headers as Latin-1; clients that send other characters send UTF-8.
  const decoded = Buffer.from(given, 'latin1').toString('utf8')
  return cleanText(decoded.includes('\uFFFD') ? given : decoded, charsMax)
}

function refererText(given: string | string[] | undefined): string | undefined {
  const text = headerText(given, 4 * REFERER_CHARS_MAX)
  if (text === undefined) return undefined
  const url = URL.parse(text)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  return isWeb ? cleanText(url.host + url.pathname.replace(/\/$/, ''), REFERER_CHARS_MAX) : undefined
}

function readMetadata(body: unknown): Record<string, string> | undefined {
  if (typeof body !== 'object' || body === null || !('metadata' in body)) return undefined
  const { metadata } = body
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return undefined
  const pairs: Array<[string, string]> = []
  for (const name in metadata) {
    if (pairs.length === PAIRS_MAX) break
    const given = (metadata as Record<string, unknown>)[name]
    const value = typeof given === 'string' ? cleanText(given, VALUE_CHARS_MAX) : undefined
    const label = cleanText(name, NAME_CHARS_MAX)
    if (value !== undefined && label !== undefined) pairs.push([label, value])
  }
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}
