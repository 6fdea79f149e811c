import { useQuery } from '@tanstack/react-query'
import { type ComponentType, type ReactNode, Suspense, useState } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import type { PlaygroundSurfaces } from '../../../src/core/api/playground.ts'
import { lazyPart } from '../../api/lazy-part.ts'
import { readOf } from '../../api/read.ts'
import { path } from '../../api/request.ts'
import { Note, SkeletonLines } from '../../components/feedback/messages.tsx'
import { type CatalogModel, findModel } from '../../lib/models/model-catalog.ts'
import type { TaskTabProps } from './task-frame.tsx'

const CHAT = 'chat'

const surfacesOf = (keyId: string) =>
  readOf<PlaygroundSurfaces>(path`/console/api/playground/surfaces?key_id=${keyId}`)

/** The chat, and a tab for each other surface that the key may use. Without any, the chat alone. */
export function SurfaceTabs(props: {
  keyId: string
  models: readonly CatalogModel[]
  /** The model that the page was opened with. */
  initialModel: string
  /** The chat. */
  children: ReactNode
}) {
  const { keyId, models, initialModel, children } = props
  const [chosen, setChosen] = useState<string | null>(null)
  const { data } = useQuery(surfacesOf(keyId))
  const open = (data?.data ?? []).filter(({ id, available }) => available && id in TASK_TABS)
  const initial = findModel(models, initialModel)
  const initialKind = initial?.kind
  const tabOfModel = open.find(({ id }) => TASK_TABS[id]?.kind === initialKind)?.id
  return (
    <Tabs
      className="stack gap-4"
      selectedKey={open.find(({ id }) => id === chosen)?.id ?? (chosen === null ? tabOfModel : null) ?? CHAT}
      onSelectionChange={(key) => setChosen(String(key))}
    >
      {data && initialKind && !tabOfModel && (
        <Note tone="warn">
          {initial.name} is no chat model, and the API that serves it is not open to this key. Ask the
          operator to open it.
        </Note>
      )}
      <TabList className={open.length === 0 ? 'hidden' : 'flex flex-wrap gap-1'} aria-label="What to call">
        <Tab id={CHAT} className="tab whitespace-nowrap">
          Chat
        </Tab>
        {open.map(({ id }) => (
          <Tab key={id} id={id} className="tab whitespace-nowrap">
            {TASK_TABS[id]?.name}
          </Tab>
        ))}
      </TabList>
      {/* A conversation continues behind the other tabs. */}
      <TabPanel id={CHAT} shouldForceMount className="outline-none data-inert:hidden">
        {children}
      </TabPanel>
      {open.map(({ id, path: address }) => {
        const { Tab: Content, kind } = TASK_TABS[id]!
        return (
          <TabPanel key={id} id={id} className="outline-none">
            <Suspense fallback={<SkeletonLines />}>
              <Content
                surface={id}
                path={address}
                keyId={keyId}
                initialModel={initialModel}
                models={models.filter((model) => model.kind === kind)}
              />
            </Suspense>
          </TabPanel>
        )
      })}
    </Tabs>
  )
}

interface TaskTab {
  name: string
  /** Of its models, as the price list has it. */
  kind: NonNullable<CatalogModel['kind']>
  Tab: ComponentType<TaskTabProps>
}

/** The tabs of surfaces whose response is not streamed, by surface id. A tab is shown if the key may use its surface. */
export const TASK_TABS: Readonly<Record<string, TaskTab>> = {
  'images.generations': {
    name: 'Images',
    kind: 'image',
    Tab: lazyPart(async () => (await import('./image-tabs.tsx')).ImagesTab),
  },
  'images.edits': {
    name: 'Image edits',
    kind: 'image',
    Tab: lazyPart(async () => (await import('./image-tabs.tsx')).ImageEditsTab),
  },
  'audio.speech': {
    name: 'Speech',
    kind: 'speech',
    Tab: lazyPart(async () => (await import('./audio-tabs.tsx')).SpeechTab),
  },
  'audio.transcriptions': {
    name: 'Transcription',
    kind: 'transcription',
    Tab: lazyPart(async () => (await import('./audio-tabs.tsx')).TranscriptionsTab),
  },
  'audio.translations': {
    name: 'Translation',
    kind: 'transcription',
    Tab: lazyPart(async () => (await import('./audio-tabs.tsx')).TranslationsTab),
  },
  embeddings: {
    name: 'Embeddings',
    kind: 'embeddings',
    Tab: lazyPart(async () => (await import('./text-tabs.tsx')).EmbeddingsTab),
  },
  rerank: {
    name: 'Rerank',
    kind: 'rerank',
    Tab: lazyPart(async () => (await import('./text-tabs.tsx')).RerankTab),
  },
  moderations: {
    name: 'Moderation',
    kind: 'moderation',
    Tab: lazyPart(async () => (await import('./text-tabs.tsx')).ModerationsTab),
  },
}
