import type { MadeFile, MediaTask, Transcript, TranscriptionTask } from '../../core/calls/media-task.ts'
import { speechType } from '../../core/calls/media-task.ts'
import { isMediaTask, type Task } from '../../core/calls/task.ts'
import type { Usage } from '../../core/calls/usage.ts'
import type { CompletionHead, ResponseFormat, WholeBody } from './completion-writer.ts'

/** How a surface writes what stands around an answer; the answer is the JSON text of an array. */
type Frame = (head: CompletionHead, answer: string, usage: Usage | null) => string

const fields = (value: Record<string, unknown>): string => JSON.stringify(value).slice(1, -1)

const tokens = (usage: Usage | null): string =>
  usage === null
    ? ''
    : `,${fields({ usage: { prompt_tokens: usage.promptTokens, total_tokens: usage.promptTokens } })}`

const FRAMES: Record<Exclude<Task, MediaTask>['kind'], Frame> = {
  embeddings: ({ id, model }, answer, usage) =>
    `{${fields({ id, object: 'list', model })},"data":${answer}${tokens(usage)}}`,
  moderation: ({ id, model }, answer) => `{${fields({ id, model })},"results":${answer}}`,
  rerank: ({ id, model }, answer, usage) => {
    const meta =
      usage?.units === undefined
        ? ''
        : `,${fields({ meta: { billed_units: { search_units: usage.units } } })}`
    return `{${fields({ id, model })},"results":${answer}${tokens(usage)}${meta}}`
  },
}

/** As clients of the surfaces that are no chats read it. */
export const taskFormat = (task: Task): ResponseFormat<string | WholeBody> => ({
  stream: () => {
    throw new Error(`there is no stream of ${task.kind}`)
  },
  whole: (head, [, , message, , usage]) => {
    const answer = message.content ?? '[]'
    return isMediaTask(task)
      ? mediaBody(task, head, JSON.parse(answer), usage)
      : FRAMES[task.kind](head, answer, usage)
  },
})

const JSON_TYPE = 'application/json; charset=utf-8'

function mediaBody(
  task: MediaTask,
  { created }: CompletionHead,
  answer: Array<MadeFile | Transcript>,
  usage: Usage | null,
): WholeBody {
  switch (task.kind) {
    case 'image':
      return imagesBody(answer as MadeFile[], created, usage)
    case 'speech':
      return { contentType: speechType(task), pieces: answer as MadeFile[] }
    case 'transcription':
      return transcriptBody(task, (answer as Transcript[])[0]!, usage?.units ?? 0)
    default:
      return task satisfies never
  }
}

/** The images stand in the JSON as they are stored: as base64. */
function imagesBody(images: readonly MadeFile[], created: number, usage: Usage | null): WholeBody {
  const pieces = images.flatMap((image, index) => {
    const { revisedPrompt: revised } = image
    const end = revised === undefined ? '"}' : `",${fields({ revised_prompt: revised })}}`
    return [`${index === 0 ? '' : ','}{"b64_json":"`, image, end]
  })
  return {
    contentType: JSON_TYPE,
    pieces: [`{${fields({ created })},"data":[`, ...pieces, `]${imageUsage(usage)}}`],
  }
}

/** Absent where nothing is counted in tokens. */
function imageUsage(usage: Usage | null): string {
  if (!usage || usage.promptTokens === 0) return ''
  const { promptTokens, imageTokens = 0, units = 0 } = usage
  const details = { text_tokens: promptTokens - imageTokens, image_tokens: imageTokens }
  return `,${fields({
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: details,
      output_tokens: units,
      total_tokens: promptTokens + units,
    },
  })}`
}

/** In the format that the client asked for. `seconds`: those charged. */
function transcriptBody(
  { format, translates, granularities }: TranscriptionTask,
  { text, duration, language, segments, words }: Transcript,
  seconds: number,
): WholeBody {
  if (format === 'text') return { contentType: 'text/plain; charset=utf-8', pieces: [`${text}\n`] }
  const usage = { type: 'duration', seconds }
  const details = {
    task: translates ? 'translate' : 'transcribe',
    language,
    duration,
    text,
    ...(granularities.includes('word') && { words }),
    ...((granularities.length === 0 || granularities.includes('segment')) && { segments }),
    usage,
  }
  return { contentType: JSON_TYPE, pieces: [JSON.stringify(format === 'json' ? { text, usage } : details)] }
}
