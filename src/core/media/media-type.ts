/** The kind of a message part, by the media type of its data. Named like the catalog's input modalities. */
export type Modality = 'text' | 'image' | 'audio' | 'video' | 'file'

const IMAGES: Readonly<Record<string, string>> = {
  png: 'png',
  'x-png': 'png',
  jpeg: 'jpeg',
  jpg: 'jpeg',
  webp: 'webp',
  gif: 'gif',
  heic: 'heic',
  heif: 'heif',
  avif: 'avif',
  bmp: 'bmp',
  tiff: 'tiff',
}

/** Audio formats of `input_audio.format`, by media subtype. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  wav: 'wav',
  wave: 'wav',
  'x-wav': 'wav',
  'vnd.wave': 'wav',
  mp3: 'mp3',
  mpeg: 'mp3',
  mpga: 'mp3',
  flac: 'flac',
  'x-flac': 'flac',
  ogg: 'ogg',
  opus: 'opus',
  aac: 'aac',
  'x-aac': 'aac',
  m4a: 'm4a',
  'x-m4a': 'm4a',
  mp4: 'm4a',
  aiff: 'aiff',
  'x-aiff': 'aiff',
  webm: 'webm',
  pcm16: 'pcm16',
  pcm: 'pcm16',
  amr: 'amr',
}

const VIDEO_SUBTYPE = /^[a-z0-9][a-z0-9.+-]{0,63}$/
const TEXTS = new Set(['application/json', 'application/xml', 'application/yaml'])

/** The modality of a media type, and its spelling at providers; null if it is not supported. */
export function readMediaType(mediaType: string): { modality: Modality; mediaType: string } | null {
  const lower = mediaType.toLowerCase()
  const [type, subtype = ''] = lower.split('/', 2)
  if (type === 'text' || TEXTS.has(lower)) return { modality: 'text', mediaType: lower }
  if (lower === 'application/pdf') return { modality: 'file', mediaType: lower }
  if (type === 'image' && Object.hasOwn(IMAGES, subtype)) {
    return { modality: 'image', mediaType: `image/${IMAGES[subtype]}` }
  }
  const format = type === 'audio' ? audioFormat(subtype) : null
  if (format !== null) return { modality: 'audio', mediaType: `audio/${format}` }
  return type === 'video' && VIDEO_SUBTYPE.test(subtype) ? { modality: 'video', mediaType: lower } : null
}

/** The usual name of an audio format; null if unknown. */
export const audioFormat = (name: string): string | null =>
  Object.hasOwn(AUDIO_FORMATS, name) ? AUDIO_FORMATS[name]! : null

const VIDEO_ENDINGS = new Set(['mp4', 'm4v', 'mov', 'webm', 'mkv', 'avi', 'mpg', 'mpeg', 'flv', '3gp', 'wmv'])
/** Providers that fetch URLs treat every URL of these sites as a video, whatever its name. */
const VIDEO_SITES = /(^|\.)(youtube\.com|youtube-nocookie\.com|youtu\.be)\.?$/i

/** The likely modality of a URL; null if unknown. */
export function modalityOfAddress(url: URL): Modality | null {
  if (VIDEO_SITES.test(url.hostname)) return 'video'
  const ending = endingOf(url)
  if (ending === 'pdf') return 'file'
  if (VIDEO_ENDINGS.has(ending)) return 'video'
  if (Object.hasOwn(IMAGES, ending)) return 'image'
  return Object.hasOwn(AUDIO_FORMATS, ending) ? 'audio' : null
}

/** The lowercase extension of a URL's decoded path; empty if it has none. */
export const endingOf = (url: URL): string =>
  /\.([a-z0-9]{2,5})$/i.exec(decoded(url.pathname))?.[1]?.toLowerCase() ?? ''

const decoded = (path: string): string =>
  path.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
