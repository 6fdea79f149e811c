import { useState } from 'react'
import { FileField, SelectField, TextField } from '../../components/form/fields.tsx'
import { CopyButton } from '../../components/text/copy.tsx'
import type { TranscriptResponse } from '../../lib/playground/task-responses.ts'
import { AudioPlayer } from './audio-player.tsx'
import { TaskFrame, type TaskTabProps } from './task-frame.tsx'

const FORMATS = ['mp3', 'wav', 'opus', 'aac', 'flac', 'pcm'].map((value) => ({ value, name: value }))
const VOICES = [
  'alloy',
  'ash',
  'ballad',
  'coral',
  'echo',
  'fable',
  'nova',
  'onyx',
  'sage',
  'shimmer',
  'verse',
]

/** Speech from a text. */
export function SpeechTab(props: TaskTabProps) {
  const [input, setInput] = useState('')
  const [voice, setVoice] = useState('alloy')
  const [format, setFormat] = useState('mp3')
  const [speed, setSpeed] = useState('')
  const problem =
    speed === '' || (Number(speed) >= 0.25 && Number(speed) <= 4) ? null : 'Enter a number from 0.25 to 4.'
  const isReady = input.trim() !== '' && voice.trim() !== '' && problem === null
  return (
    <TaskFrame
      {...props}
      output={`speech.${format}`}
      request={(model) =>
        isReady
          ? {
              body: {
                model,
                input,
                voice: voice.trim(),
                response_format: format,
                ...(speed !== '' && { speed: Number(speed) }),
              },
            }
          : null
      }
      show={(response) => response.kind === 'file' && <AudioPlayer audio={response.blob} />}
    >
      <TextField label="Text" value={input} onChange={setInput} rows={5} hint="At most 4,096 characters." />
      <div className="columns gap-4 [--column:8.5rem]">
        <TextField
          label="Voice"
          value={voice}
          onChange={setVoice}
          suggestions={VOICES.map((value) => ({ value }))}
        />
        <SelectField label="Format" value={format} onChange={setFormat} options={FORMATS} />
        <TextField
          label="Speed"
          value={speed}
          onChange={setSpeed}
          error={problem}
          inputMode="decimal"
          placeholder="1"
        />
      </div>
    </TaskFrame>
  )
}

/** The text of a recording. */
export const TranscriptionsTab = (props: TaskTabProps) => <ListeningTab {...props} takesLanguage />

/** The text of a recording, in English. */
export const TranslationsTab = ({ models, ...props }: TaskTabProps) => (
  <ListeningTab
    {...props}
    models={models.filter(({ supported_parameters: taken }) => taken.includes('translations'))}
    takesLanguage={false}
  />
)

function ListeningTab({ takesLanguage, ...props }: TaskTabProps & { takesLanguage: boolean }) {
  const [files, setFiles] = useState<File[]>([])
  const [language, setLanguage] = useState('')
  const [prompt, setPrompt] = useState('')
  const [file] = files
  return (
    <TaskFrame
      {...props}
      request={(model) =>
        file
          ? {
              form: [
                ['model', model],
                ...(language.trim() === '' ? [] : [['language', language.trim()] as const]),
                ...(prompt.trim() === '' ? [] : [['prompt', prompt] as const]),
                ['file', file],
              ],
            }
          : null
      }
      show={(response) => {
        const { text } = response.kind === 'json' ? (response.value as TranscriptResponse) : { text: '' }
        return (
          <div className="flex items-start gap-2">
            <p className="min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap">{text}</p>
            <CopyButton text={text} of="the text" />
          </div>
        )
      }}
    >
      <FileField
        label="Recording"
        accept="audio/*,.webm,.m4a"
        hint="WAV, MP3, FLAC, Ogg, M4A or WebM, at most 25 MB."
        onChange={setFiles}
      />
      {takesLanguage && (
        <TextField
          label="Language"
          value={language}
          onChange={setLanguage}
          hint="A code such as en. Optional."
          placeholder="Detected"
        />
      )}
      <TextField
        label="Prompt"
        value={prompt}
        onChange={setPrompt}
        rows={2}
        hint="Names and spellings that occur. Optional."
      />
    </TaskFrame>
  )
}
