import type { Static, TObject } from 'typebox'
import { createValidator } from '../../api/schema-validator.ts'
import { invalid } from '../../kernel/errors.ts'
import { oncePer } from '../../kernel/once-per.ts'
import { type FileFormat, fileFormat } from '../../media/file-format.ts'

/** The kinds whose requests are forms: reads their fields as a JSON body, and their files from the store of bodies. */

/** A form after it was read. */
export interface Form {
  fields: ReadonlyMap<string, readonly string[]>
  files: readonly FormFile[]
}

interface FormFile {
  field: string
  ref: string
  bytes: number
  head: Buffer
}

/** A file in the store of bodies. */
export interface CallFile {
  ref: string
  bytes: number
  mediaType: string
  /** Has the extension of the file's format; never the client's own name. */
  fileName: string
}

const FORMATS: Record<FileFormat['modality'], string> = {
  image: 'a PNG, JPEG or WebP image',
  audio: 'audio as WAV, MP3, FLAC, Ogg, M4A or WebM',
}

/** Throws ApiError `invalid_request` if a file does not have the modality. */
export function callFile({ field, ref, bytes, head }: FormFile, modality: FileFormat['modality']): CallFile {
  const format = fileFormat(head)
  if (format?.modality !== modality) throw invalid(field, `\`${field}\` must be ${FORMATS[modality]}.`)
  return { ref, bytes, mediaType: format.mediaType, fileName: `file.${format.extension}` }
}

/**
 * Converts the fields of a form to the body that a schema describes: texts become numbers, booleans, lists and
 * objects. Throws ApiError `invalid_request`.
 */
export function readFields<Schema extends TObject>(schema: Schema, fields: Form['fields']): Static<Schema> {
  const body: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties)) {
    const values = fields.get(name)
    if (!values || values[0] === '') continue
    const types = [(property as { type?: string | string[] }).type].flat()
    if (!types.includes('array') && values.length > 1) throw invalid(name, `Send \`${name}\` once.`)
    body[name] = types.includes('array') ? values : readValue(values[0]!, types)
  }
  const error = validatorOf(schema)(body)
  if (error) throw error
  return body as Static<Schema>
}

function readValue(text: string, types: ReadonlyArray<string | undefined>): unknown {
  if (types.includes('object')) return parseObject(text) ?? text
  if (types.includes('boolean')) return text === 'true' || (text === 'false' ? false : text)
  const isNumeric = types.includes('number') || types.includes('integer')
  return isNumeric && /^-?\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : text
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Validation then refuses the text.
    return null
  }
}

const validatorOf = oncePer(createValidator)
