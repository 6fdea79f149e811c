import { ImagePlus, SendHorizontal, Square, X } from 'lucide-react'
import { type KeyboardEvent, useId, useRef, useState } from 'react'
import { Button } from '../../components/form/button.tsx'
import type { UserMessage } from '../../lib/playground/conversation.ts'

const IMAGES_MAX = 4
const IMAGE_BYTES_MAX = 5 * 1024 * 1024
const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']

interface ComposerProps {
  draft: UserMessage
  onDraft: (draft: UserMessage) => void
  onSend: () => void
  onStop: () => void
  isBusy: boolean
  /** Why nothing can be sent; null: it can. */
  obstacle: string | null
  /** Why no image can be added; null: it can. */
  imageObstacle: string | null
}

/** Where a message is written. Enter sends it where there is a keyboard, Shift and Enter begin a line. */
export function Composer(props: ComposerProps) {
  const { draft, onDraft, onSend, onStop, isBusy, obstacle, imageObstacle } = props
  const id = useId()
  const [problem, setProblem] = useState<string | null>(null)
  const isEmpty = draft.text.trim() === '' && draft.images.length === 0
  const canSend = !isEmpty && !isBusy && obstacle === null
  const trySend = () => canSend && onSend()
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
    const isAsked = event.ctrlKey || event.metaKey
    const isPlain = !event.shiftKey && !event.altKey && !matchMedia('(pointer: coarse)').matches
    if (!isAsked && !isPlain) return
    event.preventDefault()
    trySend()
  }
  const addImages = async (files: FileList) => {
    const { images, problem: found } = await readImages([...files], IMAGES_MAX - draft.images.length)
    setProblem(found)
    onDraft({ ...draft, images: [...new Set([...draft.images, ...images])] })
  }
  return (
    // The page ends with it: the space below other pages would be one of nothing.
    <form
      className="composer sticky bottom-0 z-10 -mx-1 -mb-12 grid gap-2 bg-page px-1 pt-2 pb-3 lg:-mb-20"
      onSubmit={(event) => {
        event.preventDefault()
        trySend()
      }}
    >
      {draft.images.length > 0 && (
        <ul className="row">
          {draft.images.map((url, index) => (
            <li key={url} className="line gap-0">
              <img
                src={url}
                alt={`Attachment ${index + 1}`}
                className="h-12 max-w-24 rounded-sm object-cover"
              />
              <Button
                icon={X}
                size="small"
                about={`Remove attachment ${index + 1}`}
                onClick={() => onDraft({ ...draft, images: draft.images.filter((_, at) => at !== index) })}
              />
            </li>
          ))}
        </ul>
      )}
      <label className="sr-only" htmlFor={id}>
        Message
      </label>
      <div className="flex items-end gap-2">
        <textarea
          id={id}
          className="input field-sizing-content max-h-[35dvh] min-h-12 flex-1 resize-none"
          rows={2}
          value={draft.text}
          placeholder="Message"
          aria-describedby={`${id}-note`}
          onChange={(event) => onDraft({ ...draft, text: event.target.value })}
          onKeyDown={onKeyDown}
        />
        <ImageButton
          obstacle={draft.images.length >= IMAGES_MAX ? `At most ${IMAGES_MAX} images.` : imageObstacle}
          onFiles={(files) => void addImages(files)}
        />
        {isBusy ? (
          <Button icon={Square} size="large" onClick={onStop}>
            <span className="max-sm:sr-only">Stop</span>
          </Button>
        ) : (
          <Button icon={SendHorizontal} kind="primary" size="large" disabled={!canSend}>
            <span className="max-sm:sr-only">Send</span>
          </Button>
        )}
      </div>
      <p id={`${id}-note`} className="text-sm text-muted" role="status">
        {problem ?? obstacle}
      </p>
    </form>
  )
}

function ImageButton({ obstacle, onFiles }: { obstacle: string | null; onFiles: (files: FileList) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <button
        type="button"
        className="button button-large px-3"
        disabled={obstacle !== null}
        title={obstacle ?? 'Add images'}
        onClick={() => input.current?.click()}
      >
        <ImagePlus size={18} aria-hidden="true" />
        <span className="sr-only">Add images</span>
      </button>
      <input
        ref={input}
        type="file"
        className="hidden"
        accept={IMAGE_TYPES.join(',')}
        multiple
        aria-label="Images"
        onChange={({ target }) => {
          if (target.files?.length) onFiles(target.files)
          target.value = ''
        }}
      />
    </>
  )
}

/** The images among files, up to so many, and what is wrong with the others. */
async function readImages(files: readonly File[], max: number) {
  const fitting = files.filter(({ type, size }) => IMAGE_TYPES.includes(type) && size <= IMAGE_BYTES_MAX)
  const taken = fitting.slice(0, max)
  const problem =
    taken.length < files.length ? `Up to ${IMAGES_MAX} PNG, JPEG, WebP or GIF images of 5 MB each.` : null
  try {
    return { images: await Promise.all(taken.map(dataUrlOf)), problem }
  } catch (error) {
    return { images: [], problem: `The file cannot be read: ${(error as Error).message}` }
  }
}

/** A file as a data: address. Rejects with Error where it cannot be read. */
const dataUrlOf = (file: Blob): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error('the file cannot be read'))
    reader.readAsDataURL(file)
  })
