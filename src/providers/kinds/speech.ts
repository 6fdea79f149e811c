import { type SpeechContent, speechType } from '../../core/calls/kinds/speech.ts'
import { fileFormat } from '../../core/media/file-format.ts'
import type { ResultKind } from './result-kind.ts'

export const speech: ResultKind<SpeechContent> = {
  path: '/audio/speech',
  request: ({ input, voice, format, speed }, { upstreamModel: model }) => ({
    body: { model, input, voice, response_format: format, ...(speed !== undefined && { speed }) },
  }),
  isMedia: true,
  files: { kind: 'body' },
  read(content, { files: [file] }) {
    if (!file || !isSpeech(content, file.head)) return null
    return { result: [{ ref: file.ref, bytes: file.bytes }], usage: null }
  },
}

/** Whether the first bytes of a response can be speech of the requested format. PCM samples and AAC have no fixed start. */
function isSpeech(content: SpeechContent, head: Uint8Array): boolean {
  if (head.length === 0) return false
  if (content.format === 'pcm' || content.format === 'aac') return head[0] !== 0x7b && head[0] !== 0x3c
  return fileFormat(head)?.mediaType === speechType(content)
}
