/** The format of a file, detected by its first bytes. */
export interface FileFormat {
  modality: 'image' | 'audio'
  mediaType: string
  /** The usual extension, by which providers distinguish formats. */
  extension: string
}

const format = (modality: FileFormat['modality'], subtype: string, extension = subtype): FileFormat => ({
  modality,
  mediaType: `${modality}/${subtype}`,
  extension,
})

const RIFF_KINDS: Readonly<Record<string, FileFormat>> = {
  WAVE: format('audio', 'wav'),
  WEBP: format('image', 'webp'),
}

const SIGNATURES: ReadonlyArray<readonly [signature: string, FileFormat]> = [
  ['\x89PNG\r\n\x1a\n', format('image', 'png')],
  ['\xff\xd8\xff', format('image', 'jpeg', 'jpg')],
  ['fLaC', format('audio', 'flac')],
  ['OggS', format('audio', 'ogg')],
  ['\x1aE\xdf\xa3', format('audio', 'webm')],
  ['ID3', format('audio', 'mpeg', 'mp3')],
]

const KIND_AT = 8
const FRAME_SYNC = 0xe0
const LAYER_BITS = 0x06

/** Detects the format of a file; null if it is not a supported image or audio format. The client's file name is ignored. */
export function fileFormat(head: Uint8Array): FileFormat | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 16)).toString('latin1')
  if (text.startsWith('RIFF')) return RIFF_KINDS[text.slice(KIND_AT, KIND_AT + 4)] ?? null
  const known = SIGNATURES.find(([signature]) => text.startsWith(signature))
  if (known) return known[1]
  if (text.slice(4, KIND_AT) === 'ftyp') return format('audio', 'mp4', 'm4a')
  // Frames of MPEG audio; layer 0 is AAC in ADTS, which no provider accepts.
  const [sync = 0, flags = 0] = head
  const isFrame = sync === 0xff && (flags & FRAME_SYNC) === FRAME_SYNC && (flags & LAYER_BITS) !== 0
  return isFrame ? format('audio', 'mpeg', 'mp3') : null
}
