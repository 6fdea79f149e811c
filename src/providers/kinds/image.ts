import type { ImageContent, MadeFile } from '../../core/calls/kinds/image.ts'
import type { Usage } from '../../core/calls/usage.ts'
import { type Fields, isObject } from '../wire.ts'
import { FormParts, type ResultKind } from './result-kind.ts'

const IMAGE_FIELD = 'b64_json'

export const image: ResultKind<ImageContent> = {
  path: '/images',
  request(content, { upstreamModel: model, provider }, choice) {
    if (!choice) throw new Error('an image was planned that its model does not make')
    const { prompt, count: n, background, style, sources, mask } = content
    const body = {
      model,
      prompt,
      n,
      // Always sent, so that the image has the size for which its cost is held.
      size: choice.size,
      ...(choice.quality !== '' && { quality: choice.quality }),
      // `auto` is the default, and not every provider knows the field.
      ...(background && background !== 'auto' && { background }),
      ...(style && { style }),
      ...(provider.quirks?.base64Images && { response_format: 'b64_json' }),
    }
    if (sources.length === 0) return { path: '/generations', body }
    const field = sources.length === 1 ? 'image' : 'image[]'
    return {
      path: '/edits',
      body: new FormParts(
        Object.entries(body).map(([name, value]) => [name, String(value)]),
        [...sources.map((file) => ({ ...file, field })), ...(mask ? [{ ...mask, field: 'mask' }] : [])],
      ),
    }
  },
  isMedia: true,
  files: { kind: 'field', name: IMAGE_FIELD },
  /** The images of a response: at least one, and at most the requested number. */
  read({ count }, { body: { data, usage }, files, image: choice }) {
    if (!Array.isArray(data) || data.length === 0 || data.length > count) return null
    const result: MadeFile[] = []
    for (const entry of data) {
      if (!isObject(entry)) return null
      const file = files[Number(entry[IMAGE_FIELD] ?? Number.NaN)]
      if (!file?.head.toString('latin1').startsWith(PNG_START)) return null
      const { revised_prompt: revised } = entry
      result.push({
        ref: file.ref,
        bytes: file.bytes,
        ...(typeof revised === 'string' && { revisedPrompt: revised }),
      })
    }
    return { result, usage: usageOf(usage, result.length * choice!.unitsEach) }
  },
}

/** In base64. */
const PNG_START = 'iVBORw0KGgo'

/** The tokens of the prompt and its images, if the provider reports them. It may report fewer output tokens than planned. */
function usageOf(reported: unknown, units: number): Usage {
  const { input_tokens: input, input_tokens_details: details, output_tokens: output } = fieldsOf(reported)
  const { image_tokens: imageTokens } = fieldsOf(details)
  return {
    promptTokens: typeof input === 'number' ? input : 0,
    completionTokens: 0,
    ...(typeof imageTokens === 'number' && { imageTokens }),
    units: typeof output === 'number' && output > 0 ? Math.min(units, output) : units,
  }
}

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})
