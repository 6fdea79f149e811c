import { Link } from '@tanstack/react-router'
import { Bookmark, Code, History as HistoryIcon, SlidersHorizontal, SquarePen } from 'lucide-react'
import { Suspense, useEffect, useRef, useState } from 'react'
import { lazyPart } from '../../api/lazy-part.ts'
import { Button, type ButtonProps } from '../../components/form/button.tsx'
import { readDraft, useDraft } from '../../lib/form-drafts.ts'
import { type CatalogModel, findModel } from '../../lib/models/model-catalog.ts'
import {
  type ChatSettings,
  MESSAGE_DRAFT,
  MODELS_MAX,
  settingsCount,
  settingsProblems,
} from '../../lib/playground/chat-settings.ts'
import {
  type Conversation,
  chatBody,
  type UserMessage,
  waitsForTools,
  withTurn,
} from '../../lib/playground/conversation.ts'
import { Composer } from './composer.tsx'
import { ModelChoices } from './model-picker.tsx'
import { CHAT_PATH } from './run-chat.ts'
import { TurnView } from './turn-view.tsx'
import { useConversation } from './use-conversation.ts'
import { useHistory } from './use-history.ts'

/** What is opened over the conversation is loaded then. */
const HistoryDialog = lazyPart(async () => (await import('./history-dialog.tsx')).HistoryDialog)
const PlaygroundPresets = lazyPart(async () => (await import('./preset-dialog.tsx')).PlaygroundPresets)
const SettingsPanel = lazyPart(async () => (await import('./settings-panel.tsx')).SettingsPanel)
const CodeDialog = lazyPart(async () => (await import('./code-dialog.tsx')).CodeDialog)

const NO_DRAFT: UserMessage = { text: '', images: [] }

interface ChatTabProps {
  accountId: string
  keyId: string
  initial: ChatSettings
  models: readonly CatalogModel[]
}

/** A conversation with up to three models at once. */
export function ChatTab({ accountId, keyId, initial, models }: ChatTabProps) {
  // A call that is replayed leaves its settings beside its message.
  const [left] = useState(() => readDraft(MESSAGE_DRAFT))
  const control = useConversation(keyId, left.settings ? JSON.parse(left.settings) : initial)
  const { conversation, isBusy } = control
  const { settings, turns } = conversation
  const history = useHistory(accountId, conversation)
  const [draft, setDraft] = useState(() => ({ ...NO_DRAFT, text: left.text ?? '' }))
  useDraft(MESSAGE_DRAFT, draft.text === '' ? {} : { text: draft.text })
  const count = settingsCount(settings)
  const [dialog, setDialog] = useState<'presets' | 'history' | 'code' | null>(null)
  const [showsSettings, setShowsSettings] = useState(count > 0)
  const lastTurn = useInSight(turns.length)
  const close = () => setDialog(null)
  const problems = Object.keys(settingsProblems(settings)).length > 0
  return (
    <div className="stack">
      <div className="spread gap-y-2">
        <ModelChoices
          chosen={settings.models}
          max={MODELS_MAX}
          add="Compare"
          models={models}
          onChange={(chosen) => control.setSettings({ ...settings, models: chosen })}
        />
        <div className="row gap-1">
          <Tool
            label={count > 0 ? `Settings (${count})` : 'Settings'}
            icon={SlidersHorizontal}
            isOpen={showsSettings}
            onClick={() => setShowsSettings(!showsSettings)}
          />
          <Tool label="Presets" icon={Bookmark} onClick={() => !problems && setDialog('presets')} />
          <Tool label="New" icon={SquarePen} onClick={control.startNew} />
          <Tool label="History" icon={HistoryIcon} onClick={() => setDialog('history')} />
          <Tool label="Code" icon={Code} onClick={() => !problems && setDialog('code')} />
        </div>
      </div>
      {settings.models.includes('auto') && (
        <p className="text-sm text-muted">
          auto picks a model for you. The model isn't shown.{' '}
          <Link to="/docs/$page" params={{ page: 'auto' }}>
            How auto chooses
          </Link>
        </p>
      )}
      {showsSettings && (
        <Suspense>
          <SettingsPanel settings={settings} onChange={control.setSettings} />
        </Suspense>
      )}
      {turns.length === 0 ? (
        <p className="py-8 text-center text-muted">
          Send a message to start. Add a second or third model to compare their answers.
        </p>
      ) : (
        <ol className="stack gap-8" aria-label="Conversation">
          {turns.map((turn, index) => (
            <TurnView
              key={turn.id}
              turn={turn}
              place={index === turns.length - 1 ? lastTurn : undefined}
              isLast={index === turns.length - 1}
              isBusy={isBusy || problems}
              onResend={(message) => control.resend(index, message)}
              onRetry={(lane) => control.retry({ turn: index, lane })}
              onResults={(lane, results) => control.sendToolResults({ turn: index, lane }, results)}
            />
          ))}
        </ol>
      )}
      <Composer
        draft={draft}
        onDraft={setDraft}
        isBusy={isBusy}
        obstacle={obstacleOf(conversation, problems)}
        imageObstacle={imageObstacleOf(settings, models)}
        onStop={control.stop}
        onSend={() => {
          control.send(draft)
          setDraft(NO_DRAFT)
        }}
      />
      <Suspense>
        {dialog === 'presets' && (
          <PlaygroundPresets settings={settings} onLoad={control.setSettings} onClose={close} />
        )}
        {dialog === 'history' && (
          <HistoryDialog
            history={history}
            onOpen={control.open}
            onRemoved={(ids) => ids.includes(conversation.id) && control.startNew()}
            onClose={close}
          />
        )}
        {dialog === 'code' && <CodeDialog requests={requestsOf(conversation, draft)} onClose={close} />}
      </Suspense>
    </div>
  )
}

/** Scrolls a new turn to the top, so that its completions are in sight. */
function useInSight(turns: number) {
  const last = useRef<HTMLLIElement>(null)
  const seen = useRef(turns)
  useEffect(() => {
    if (turns > seen.current) last.current?.scrollIntoView({ block: 'start', behavior: 'smooth' })
    seen.current = turns
  }, [turns])
  return last
}

/** On a phone it is its icon. */
const Tool = ({ label, ...button }: ButtonProps & { label: string }) => (
  <Button {...button} kind="quiet" size="small">
    <span className="max-sm:sr-only">{label}</span>
  </Button>
)

function obstacleOf(conversation: Conversation, hasProblems: boolean): string | null {
  if (hasProblems) return 'Correct the settings first.'
  return waitsForTools(conversation) ? 'Enter the results of the tool calls first.' : null
}

function imageObstacleOf(settings: ChatSettings, models: readonly CatalogModel[]): string | null {
  const blind = settings.models.find(
    (name) => findModel(models, name)?.input_modalities.includes('image') === false,
  )
  return blind === undefined ? null : `${blind} does not take images.`
}

const EXAMPLE: UserMessage = { text: 'Why do trains need shunting yards?', images: [] }

/** What sending the draft would send; without one, what was sent last, or an example. By the names of models. */
function requestsOf(conversation: Conversation, draft: UserMessage) {
  const isEmpty = draft.text.trim() === '' && draft.images.length === 0
  const shown =
    isEmpty && conversation.turns.length > 0
      ? conversation
      : withTurn(conversation, 'next', isEmpty ? EXAMPLE : draft)
  const turn = shown.turns.length - 1
  const lanes = shown.turns[turn]?.lanes ?? []
  return Object.fromEntries(
    lanes.map(({ model }, lane) => [model, { path: CHAT_PATH, body: chatBody(shown, { turn, lane }) }]),
  )
}
