import type { ProviderPreferences } from './provider-preferences.ts'

/** A validated, normalized request for one call: where it may go, how it is answered, and what it asks. */
export interface RequestOf<Content> {
  /** The models to try, in order, as the client spelled them, with suffixes; `["auto"]` by default. */
  models: string[]
  stream: boolean
  /** The client's own limit on completion tokens, or undefined. 0 where no completion is asked for. */
  completionLimit: number | undefined
  preferences: ProviderPreferences
  content: Content
}
