import { isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'
import { type AudioLength, audioLength } from '../media/audio-length.ts'
import { type DataUrl, decodedLength, decodeText, isBase64, parseDataUrl } from '../media/data-url.ts'
import { likelyPages } from '../media/document-pages.ts'
import { type ImageSize, imageSize } from '../media/image-size.ts'
import { audioFormat, type Modality, modalityOfAddress, readMediaType } from '../media/media-type.ts'

/** Media inside the request. */
export interface InlineData {
  /** Such as `image/png`; lowercase, as providers spell it. */
  mediaType: string
  base64: string
}

/** Media at an http or https URL, which the provider fetches. */
export interface Address {
  url: string
}

export const IMAGE_DETAILS = ['auto', 'low', 'high', 'original'] as const
export type ImageDetail = (typeof IMAGE_DETAILS)[number]

export interface TextPart {
  type: 'text'
  text: string
}
export interface ImagePart {
  type: 'image'
  source: InlineData | Address
  detail?: ImageDetail
  /** Absent if it cannot be read. */
  size?: ImageSize
}
export interface AudioPart {
  type: 'audio'
  source: InlineData
  /** As in `input_audio`, such as `wav`. */
  format: string
  length: AudioLength
}
export interface VideoPart {
  type: 'video'
  source: InlineData | Address
}
export interface DocumentPart {
  type: 'file'
  source: InlineData | Address
  filename?: string
  /** An estimate; see likelyPages. */
  likelyPages: number
}

/** A measured part of a message's content. Its type is the input modality that a model needs. */
export type MediaPart = ImagePart | AudioPart | VideoPart | DocumentPart
export type ContentPart = (TextPart | MediaPart) & CacheMark

/** The mark of a part of an extended request. */
export interface CacheMark {
  /**
   * Whether the prompt up to the end of this part should be kept in the provider's prompt cache. Absent: the provider's
   * default.
   */
  cacheBreakpoint?: true
}

export const isAddress = (source: InlineData | Address): source is Address => 'url' in source

const PART_TYPES = ['text', 'image_url', 'input_audio', 'video_url', 'file']
const ADDRESS_MAX = 8_192

/**
 * Parses one content part. Its type follows from the media type of its data, not from the part's name; text in a data
 * URL becomes text. Fields that its type does not have are dropped. Throws ApiError `invalid_request` with the path of
 * the problem.
 */
export function parseContentPart(value: unknown, role: string, path: string): ContentPart {
  if (!isObject(value)) throw invalid(path, 'Each content part must be an object with a `type`.')
  switch (value.type) {
    case 'text':
      return { type: 'text', text: string(value.text, `${path}.text`) }
    case 'image_url':
      return parseImage(value.image_url, `${path}.image_url`)
    case 'video_url':
      return parseSource(urlOf(value.video_url, `${path}.video_url`), 'video', `${path}.video_url`)
    case 'input_audio':
      return parseAudio(value.input_audio, `${path}.input_audio`)
    case 'file':
      return parseFile(value.file, `${path}.file`)
    case 'refusal':
      // An earlier refusal of a model is text for the next one.
      if (role === 'assistant') return { type: 'text', text: string(value.refusal, `${path}.refusal`) }
  }
  const known = role === 'assistant' ? [...PART_TYPES, 'refusal'] : PART_TYPES
  throw invalid(`${path}.type`, `The \`type\` of a content part must be one of ${known.join(', ')}.`)
}

function parseImage(value: unknown, path: string): ContentPart {
  const url = urlOf(value, path)
  const detail = isObject(value) && value.detail != null ? value.detail : undefined
  const known = IMAGE_DETAILS.find((one) => one === detail)
  if (detail !== undefined && known === undefined) {
    throw invalid(`${path}.detail`, `\`detail\` must be one of ${IMAGE_DETAILS.join(', ')}.`)
  }
  const part = parseSource(url, 'image', path)
  return part.type === 'image' && known !== undefined ? { ...part, detail: known } : part
}

function parseAudio(value: unknown, path: string): ContentPart {
  if (!isObject(value)) throw invalid(path, 'Send an object with `data` and `format`.')
  const data = string(value.data, `${path}.data`)
  const url = parseDataUrl(data)
  if (url && url.mediaType !== '') return fromData(url, `${path}.data`)
  const format = audioFormat(string(value.format, `${path}.format`).toLowerCase())
  if (format === null) throw invalid(`${path}.format`, 'This audio format is not known. Send wav or mp3.')
  const base64 = url ? url.data : data
  if (!isBase64(base64)) throw invalid(`${path}.data`, 'Audio is sent as base64.')
  return audioPart(format, base64)
}

function parseFile(value: unknown, path: string): ContentPart {
  if (!isObject(value)) throw invalid(path, 'Send an object with `file_data`.')
  if (value.file_data == null) {
    throw invalid(`${path}.file_data`, 'Send the file itself in `file_data`; file ids are not supported.')
  }
  const filename = value.filename == null ? undefined : string(value.filename, `${path}.filename`)
  const part = parseSource(string(value.file_data, `${path}.file_data`), 'file', `${path}.file_data`)
  return part.type === 'file' && filename !== undefined ? { ...part, filename } : part
}

/** The URL of a part, sent as a string or within an object. */
function urlOf(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  if (!isObject(value)) throw invalid(path, 'Send an object with a `url`.')
  return string(value.url, `${path}.url`)
}

/** Parses media inside the request by its media type. Throws ApiError `invalid_request`. */
export const partOfData = (mediaType: string, base64: string, path: string): ContentPart =>
  fromData({ mediaType: mediaType.toLowerCase(), isBase64: true, data: base64 }, path)

/** Parses a data URL or a URL; `named` is the type that the request states. Throws ApiError `invalid_request`. */
export function parseSource(text: string, named: Modality, path: string): ContentPart {
  const data = parseDataUrl(text)
  if (data) return fromData(data, path)
  const url = text.length <= ADDRESS_MAX && URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw invalid(path, 'Send a data URL (`data:image/png;base64,…`), or an http or https address.')
  }
  // A URL stated as an image may lead to something more expensive, but not the other way round.
  const modality = named === 'video' ? 'video' : (modalityOfAddress(url) ?? named)
  switch (modality) {
    case 'image':
      return named === 'image'
        ? { type: 'image', source: { url: text } }
        : { type: 'file', source: { url: text }, likelyPages: 1 }
    case 'video':
      return { type: 'video', source: { url: text } }
    case 'audio':
      throw invalid(path, 'Audio cannot be sent by its address. Send it as `input_audio`.')
    default:
      return { type: 'file', source: { url: text }, likelyPages: 1 }
  }
}

function fromData(url: DataUrl, path: string): ContentPart {
  const known = readMediaType(url.mediaType)
  if (!known) {
    throw invalid(
      path,
      `The media type ${JSON.stringify(url.mediaType.slice(0, 80))} of this data is not supported.`,
    )
  }
  const { modality, mediaType } = known
  if (modality === 'text') {
    const text = decodeText(url)
    if (text === null) throw invalid(path, 'This text cannot be decoded. Send UTF-8 as base64.')
    return { type: 'text', text }
  }
  if (!url.isBase64 || !isBase64(url.data)) throw invalid(path, 'The data of this URL must be base64.')
  const source = { mediaType, base64: url.data }
  switch (modality) {
    case 'image': {
      const size = imageSize(url.data)
      return { type: 'image', source, ...(size && { size }) }
    }
    case 'audio':
      return audioPart(mediaType.slice('audio/'.length), url.data)
    case 'video':
      return { type: 'video', source }
    case 'file':
      return { type: 'file', source, likelyPages: likelyPages(url.data) }
    default:
      return modality satisfies never
  }
}

const audioPart = (format: string, base64: string): AudioPart => ({
  type: 'audio',
  source: { mediaType: `audio/${format}`, base64 },
  format,
  length: audioLength(base64),
})

/** Characters of inline media in the request; 0 for a URL. */
export const inlineChars = ({ source }: MediaPart): number => (isAddress(source) ? 0 : source.base64.length)

/** Bytes of inline media; 0 for a URL. */
export const inlineBytes = ({ source }: MediaPart): number =>
  isAddress(source) ? 0 : decodedLength(source.base64)

function string(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalid(path, `\`${path}\` must be a string.`)
  return value
}
