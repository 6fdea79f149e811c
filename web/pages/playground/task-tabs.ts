import type { ComponentType } from 'react'
import type { CatalogModel } from '../../lib/models/model-catalog.ts'
import { SpeechTab, TranscriptionsTab, TranslationsTab } from './audio-tabs.tsx'
import { ImageEditsTab, ImagesTab } from './image-tabs.tsx'
import type { TaskTabProps } from './task-frame.tsx'
import { EmbeddingsTab, ModerationsTab, RerankTab } from './text-tabs.tsx'

interface TaskTab {
  name: string
  /** Of its models, as the price list has it. */
  kind: NonNullable<CatalogModel['kind']>
  Tab: ComponentType<TaskTabProps>
}

/** The tabs for surfaces that answer as a whole, by the ids of the surfaces. Each is shown to keys that may use its surface. */
export const TASK_TABS: Readonly<Record<string, TaskTab>> = {
  'images.generations': { name: 'Images', kind: 'image', Tab: ImagesTab },
  'images.edits': { name: 'Image edits', kind: 'image', Tab: ImageEditsTab },
  'audio.speech': { name: 'Speech', kind: 'speech', Tab: SpeechTab },
  'audio.transcriptions': { name: 'Transcription', kind: 'transcription', Tab: TranscriptionsTab },
  'audio.translations': { name: 'Translation', kind: 'transcription', Tab: TranslationsTab },
  embeddings: { name: 'Embeddings', kind: 'embeddings', Tab: EmbeddingsTab },
  rerank: { name: 'Rerank', kind: 'rerank', Tab: RerankTab },
  moderations: { name: 'Moderation', kind: 'moderation', Tab: ModerationsTab },
}
