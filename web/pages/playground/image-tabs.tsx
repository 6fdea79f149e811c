import { useState } from 'react'
import { FileField, SelectField, TextField } from '../../components/form/fields.tsx'
import { wholeNumberProblem } from '../../lib/checks.ts'
import { formatAmount } from '../../lib/format.ts'
import type { CatalogModel } from '../../lib/models/model-catalog.ts'
import { imagePrices } from '../../lib/models/unit-prices.ts'
import type { ImagesResponse } from '../../lib/playground/task-responses.ts'
import { TaskFrame, type TaskTabProps } from './task-frame.tsx'
import type { TaskRequest, TaskResponse } from './use-task.ts'

const IMAGES_MAX = 10

/** Images from a prompt. */
export function ImagesTab(props: TaskTabProps) {
  const { fields, bodyFor } = useImageFields(props.models)
  return (
    <TaskFrame
      {...props}
      request={(model) => {
        const body = bodyFor(model)
        return body && { body: { ...body, ...(body.n && { n: Number(body.n) }) } }
      }}
      show={(response) => <Images response={response} />}
    >
      {fields}
    </TaskFrame>
  )
}

/** Images from images and a prompt. */
export function ImageEditsTab(props: TaskTabProps) {
  const models = props.models.filter(({ input_modalities: inputs }) => inputs.includes('image'))
  const { fields, bodyFor } = useImageFields(models)
  const [images, setImages] = useState<File[]>([])
  const [mask, setMask] = useState<File[]>([])
  const formFor = (model: string): TaskRequest | null => {
    const body = bodyFor(model)
    if (body === null || images.length === 0) return null
    const files = [
      ...images.map((file) => ['image', file] as const),
      ...mask.map((file) => ['mask', file] as const),
    ]
    return { form: [...Object.entries(body), ...files] }
  }
  return (
    <TaskFrame
      {...props}
      models={models}
      request={formFor}
      show={(response) => <Images response={response} />}
    >
      {(model) => (
        <>
          <FileField
            label="Images to edit"
            accept="image/png,image/jpeg,image/webp"
            multiple
            hint="PNG, JPEG or WebP, at most 25 MB each."
            onChange={setImages}
          />
          <FileField
            label="Mask (optional)"
            accept="image/png"
            hint="Transparent where the image changes."
            onChange={setMask}
          />
          {fields(model)}
        </>
      )}
    </TaskFrame>
  )
}

/** The fields of both. A body is null until it can be sent. */
function useImageFields(models: readonly CatalogModel[]) {
  const [prompt, setPrompt] = useState('')
  const [choice, setChoice] = useState('')
  const [count, setCount] = useState('')
  const problem = wholeNumberProblem(count, IMAGES_MAX)
  const fields = (model: CatalogModel | undefined) => (
    <>
      <TextField label="Prompt" value={prompt} onChange={setPrompt} rows={4} />
      <div className="columns gap-4 [--column:10rem]">
        <SelectField
          label="Size and quality"
          value={choice in (model?.image_units ?? {}) ? choice : ''}
          onChange={setChoice}
          options={[{ value: '', name: 'Model default' }, ...imageChoices(model)]}
        />
        <TextField
          label="Number of images"
          value={count}
          onChange={setCount}
          error={problem}
          inputMode="numeric"
          placeholder="1"
        />
      </div>
    </>
  )
  const bodyFor = (id: string): Record<string, string> | null => {
    if (prompt.trim() === '' || problem !== null) return null
    const isOffered = choice in (models.find((model) => model.id === id)?.image_units ?? {})
    const [quality = '', size = ''] = isOffered ? choice.split('/') : []
    const filled = { model: id, prompt, quality, size, n: count }
    return Object.fromEntries(Object.entries(filled).filter(([, value]) => value !== ''))
  }
  return { fields, bodyFor }
}

/** What the model makes, with the price of each. */
function imageChoices(model: CatalogModel | undefined) {
  const { image_units: units, units: rate } = model ?? {}
  if (units === undefined || rate === undefined) return []
  return imagePrices(units, rate).sizes.flatMap(({ size, usd }) =>
    Object.entries(usd).map(([quality, price]) => ({
      value: `${quality}/${size.replace(' × ', 'x')}`,
      name: [quality, size, formatAmount(price)].filter((part) => part !== '').join(', '),
    })),
  )
}

function Images({ response }: { response: TaskResponse }) {
  const images = response.kind === 'json' ? (response.value as ImagesResponse).data : []
  return (
    <ul className="columns gap-4 [--column:14rem]">
      {images.map(({ b64_json: content, revised_prompt: revised }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: images keep their order
        <li key={index} className="stack content-start gap-2">
          <img
            src={`data:image/png;base64,${content}`}
            alt={revised ?? `Image ${index + 1} of ${images.length}`}
            className="max-w-full rounded-md border border-line"
          />
          {revised && <p className="text-sm text-muted">{revised}</p>}
          <a
            href={`data:image/png;base64,${content}`}
            download={`image-${index + 1}.png`}
            className="text-sm"
          >
            Download
            <span className="sr-only"> image {index + 1}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}
