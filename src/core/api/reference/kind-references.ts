import type { ResultContent } from '../../calls/kinds/call-kinds.ts'
import type { SurfaceId } from '../surfaces/surface-registry.ts'
import { embeddings } from './embeddings.ts'
import { image } from './image.ts'
import { moderation } from './moderation.ts'
import { rerank } from './rerank.ts'
import { speech } from './speech.ts'
import type { KindReference, SurfaceReference } from './surface-reference.ts'
import { transcription } from './transcription.ts'

/** The documentation of every kind of call for a result; the surfaces of chats are described on their own. */
const KIND_REFERENCES: { [K in ResultContent['kind']]: KindReference } = {
  embeddings,
  rerank,
  moderation,
  image,
  speech,
  transcription,
}

/** One part of the documentation of each surface. */
export function referencesOf<Part extends keyof SurfaceReference>(part: Part) {
  const references = Object.values(KIND_REFERENCES).flatMap((reference) => Object.entries(reference))
  const parts = references.flatMap(([id, { [part]: value }]) => (value ? [[id, value] as const] : []))
  return Object.fromEntries(parts) as Partial<Record<SurfaceId, NonNullable<SurfaceReference[Part]>>>
}
