import type { Usage } from '../../core/calls/usage.ts'
import type { Offer } from '../../core/catalog/catalog.ts'
import type { FormFile } from '../http/form-body.ts'
import type { FilePlace, ReplyFile } from '../reply-files.ts'
import { type AttemptTerms, type Fields, isObject } from '../wire.ts'

/** How one kind of result is asked for, of every provider, and read. Pure mappings. */
export interface ResultKind<Content> {
  /** Appended to the base URL of a provider that has no URL for the kind. */
  path: string
  request(content: Content, offer: Offer, image: AttemptTerms['image']): ResultRequest
  /** The reply may be of any media type, and long. */
  isMedia?: true
  /** Where the files of the reply are, which go into the store as they come. Absent: it has none. */
  files?: FilePlace
  /** The result in a reply, or null if the reply does not answer all of the request. `body` is empty for a file. */
  read(
    content: Content,
    reply: { body: Fields; files: readonly ReplyFile[]; image: AttemptTerms['image'] },
  ): ReadResult | null
}

/** What is sent. */
export interface ResultRequest {
  /** Appended to the URL of the kind. */
  path?: string
  /** A JSON body, or a form. */
  body: Fields | FormParts
}

/** The parts of a form. */
export class FormParts {
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>
  readonly files: readonly FormFile[]

  constructor(fields: FormParts['fields'], files: FormParts['files']) {
    this.fields = fields
    this.files = files
  }
}

export interface ReadResult {
  /** JSON. */
  result: readonly unknown[]
  /** As far as the provider reports it; null where it does not. */
  usage: Usage | null
}

/** Entries by their `index`, of which there is exactly one each. */
export function inOrder(entries: unknown, count: number): Fields[] | null {
  if (!Array.isArray(entries) || entries.length !== count) return null
  const ordered: Array<Fields | undefined> = Array.from({ length: count })
  for (const [position, entry] of entries.entries()) {
    if (!isObject(entry)) return null
    const index = entry.index ?? position
    if (typeof index !== 'number' || !(index in ordered) || ordered[index] !== undefined) return null
    ordered[index] = entry
  }
  return ordered as Fields[]
}

/** Tokens and searches as providers report them; null where they report neither. */
export function usageOf({ usage, meta }: Fields): Usage | null {
  const tokens = isObject(usage) ? (usage.prompt_tokens ?? usage.total_tokens) : undefined
  const billed = isObject(meta) && isObject(meta.billed_units) ? meta.billed_units : {}
  const { search_units: units, input_tokens: input } = billed
  const promptTokens = [tokens, input].find((value) => typeof value === 'number')
  if (promptTokens === undefined && typeof units !== 'number') return null
  return {
    promptTokens: (promptTokens as number | undefined) ?? 0,
    completionTokens: 0,
    ...(typeof units === 'number' && { units }),
  }
}
