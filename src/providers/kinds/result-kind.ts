import type { Usage } from '../../core/calls/usage.ts'
import type { Offer } from '../../core/catalog/catalog.ts'
import type { FormFile } from '../http/form-body.ts'
import type { FilePlace, ResponseFile } from '../response-files.ts'
import { type AttemptRequest, type Fields, isObject } from '../wire.ts'

/** The request and the response of one kind of result, for every provider. Pure mappings. */
export interface ResultKind<Content> {
  /** Appended to the base URL of a provider that has no URL for this kind. */
  path: string
  request(content: Content, offer: Offer, image: AttemptRequest['image']): ResultRequest
  /** The response may have any media type, and may be long. */
  isMedia?: true
  /** Where the response has files, which are stored as they arrive. Absent if it has none. */
  files?: FilePlace
  /** The result in a response; null if the response does not have everything that was requested. `body` is empty for a file. */
  read(
    content: Content,
    reply: { body: Fields; files: readonly ResponseFile[]; image: AttemptRequest['image'] },
  ): ReadResult | null
}

export interface ResultRequest {
  /** Appended to the URL of the kind. */
  path?: string
  /** A JSON body or a form. */
  body: Fields | FormParts
}

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
  /** As the provider reports it; null if it does not. */
  usage: Usage | null
}

/** The entries in the order of their `index`; null unless each index occurs exactly once. */
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

/** The tokens and searches that a provider reports; null if it reports neither. */
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
