import {
  ImageEditForm,
  ImageGenerationBody,
  type MadeFile,
  normalizeImageEdit,
  normalizeImageGeneration,
} from '../../core/calls/kinds/image.ts'
import type { Usage } from '../../core/calls/usage.ts'
import type { WholeBody } from '../calls/completion-writer.ts'
import { inner, type ResultOf } from '../calls/result-format.ts'
import { formRoute, jsonRoute } from './result-routes.ts'

const MEGABYTE = 1024 * 1024

/** The routes that return images. */
export const IMAGE_ROUTES = {
  'images.generations': jsonRoute({
    makesFiles: true,
    summary: 'Images from a prompt',
    body: ImageGenerationBody,
    normalize: normalizeImageGeneration,
    write: imagesBody,
  }),
  'images.edits': formRoute({
    summary: 'Images from images and a prompt',
    body: ImageEditForm,
    normalize: normalizeImageEdit,
    files: { files: 17, fileBytes: 25 * MEGABYTE, bodyBytes: 100 * MEGABYTE },
    write: imagesBody,
  }),
}

/** The JSON has the images as they are stored, in base64. */
export function imagesBody({
  head: { created },
  result,
  usage,
}: Pick<ResultOf<unknown>, 'head' | 'result' | 'usage'>): WholeBody {
  const images = JSON.parse(result) as MadeFile[]
  const pieces = images.flatMap((image, index) => {
    const { revisedPrompt: revised } = image
    const end = revised === undefined ? '"}' : `",${inner({ revised_prompt: revised })}}`
    return [`${index === 0 ? '' : ','}{"b64_json":"`, image, end]
  })
  return {
    contentType: 'application/json; charset=utf-8',
    pieces: [`{${inner({ created })},"data":[`, ...pieces, `]${imageUsage(usage)}}`],
  }
}

/** Absent if no tokens are counted. */
function imageUsage(usage: Usage | null): string {
  if (!usage || usage.promptTokens === 0) return ''
  const { promptTokens, imageTokens = 0, units = 0 } = usage
  const details = { text_tokens: promptTokens - imageTokens, image_tokens: imageTokens }
  return `,${inner({
    usage: {
      input_tokens: promptTokens,
      input_tokens_details: details,
      output_tokens: units,
      total_tokens: promptTokens + units,
    },
  })}`
}
