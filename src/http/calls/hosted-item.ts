import type { Delta } from '../../core/calls/completion.ts'
import { HOSTED_ADDED, HOSTED_DONE } from '../../core/calls/hosted-events.ts'
import type { Fields } from '../../core/json/json-object.ts'

/** The deltas of an item of a provider's tool that is known as a whole. */
export const wholeItem = (item: Fields, index: number): Delta[] =>
  [HOSTED_ADDED, HOSTED_DONE].map((type) => ['hosted', { type, output_index: index, item }])

/** What the id of an item begins with, which states its type. */
export const idPrefix = (id: unknown): string => /^([a-z]{1,8})_/.exec(String(id))?.[1] ?? 'it'
