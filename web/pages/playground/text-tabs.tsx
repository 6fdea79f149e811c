import { useState } from 'react'
import { TextField } from '../../components/form/fields.tsx'
import { Badge } from '../../components/text/values.tsx'
import { wholeNumberProblem } from '../../lib/checks.ts'
import {
  categoriesOf,
  cosine,
  type EmbeddingsResponse,
  linesOf,
  type ModerationsResponse,
  type RerankResponse,
} from '../../lib/playground/task-responses.ts'
import { TaskFrame, type TaskTabProps } from './task-frame.tsx'
import type { TaskResponse } from './use-task.ts'

const jsonOf = <T,>(response: TaskResponse): T | null =>
  response.kind === 'json' ? (response.value as T) : null

/** The similarity of texts, by their vectors. */
export function EmbeddingsTab(props: TaskTabProps) {
  const [text, setText] = useState('Why do trains need switchyards?\nHow are wagons sorted?\nBread is baked.')
  const [dimensions, setDimensions] = useState('')
  const problem = wholeNumberProblem(dimensions)
  const input = linesOf(text)
  // Those that were sent, however the field has changed since.
  const [sent, setSent] = useState<string[]>([])
  return (
    <TaskFrame
      {...props}
      request={(model) =>
        input.length === 0 || problem !== null
          ? null
          : { body: { model, input, ...(dimensions !== '' && { dimensions: Number(dimensions) }) } }
      }
      onSend={() => setSent(input)}
      show={(response) => <Vectors texts={sent} response={jsonOf<EmbeddingsResponse>(response)} />}
    >
      <TextField label="Texts" hint="One per line." value={text} onChange={setText} rows={6} />
      <TextField
        label="Dimensions"
        value={dimensions}
        onChange={setDimensions}
        error={problem}
        inputMode="numeric"
        placeholder="Model default"
      />
    </TaskFrame>
  )
}

const COMPONENTS_SHOWN = 4

function Vectors({ texts, response }: { texts: string[]; response: EmbeddingsResponse | null }) {
  const vectors = response?.data.map(({ embedding }) => embedding) ?? []
  return (
    <>
      <p>
        {vectors.length} {vectors.length === 1 ? 'vector' : 'vectors'} of {vectors[0]?.length ?? 0}{' '}
        dimensions.
        {vectors.length > 1 && ' Similarity is the cosine to the first text.'}
      </p>
      <ol className="divide-y divide-line">
        {vectors.map((vector, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: vectors keep their order
          <li key={index} className="py-2">
            <p className="spread gap-y-0">
              <span className="min-w-0 wrap-anywhere">{texts[index]}</span>
              {index > 0 && (
                <span className="tabular-nums">{cosine(vectors[0] ?? [], vector).toFixed(3)}</span>
              )}
            </p>
            <code className="text-sm text-muted wrap-anywhere">
              [
              {vector
                .slice(0, COMPONENTS_SHOWN)
                .map((value) => value.toFixed(4))
                .join(', ')}
              {vector.length > COMPONENTS_SHOWN && ', …'}]
            </code>
          </li>
        ))}
      </ol>
    </>
  )
}

/** Documents in the order of their relevance. */
export function RerankTab(props: TaskTabProps) {
  const [query, setQuery] = useState('Why do trains need switchyards?')
  const [text, setText] = useState('A switchyard sorts cars into trains.\nBread is baked from flour.')
  const documents = linesOf(text)
  const [sent, setSent] = useState<string[]>([])
  return (
    <TaskFrame
      {...props}
      request={(model) =>
        query.trim() === '' || documents.length === 0 ? null : { body: { model, query, documents } }
      }
      onSend={() => setSent(documents)}
      show={(response) => (
        <ol className="divide-y divide-line">
          {jsonOf<RerankResponse>(response)?.results.map(({ index, relevance_score: score }) => (
            <li key={index} className="spread py-2">
              <span className="min-w-0 flex-1 wrap-anywhere">{sent[index]}</span>
              <span className="tabular-nums">{score.toFixed(3)}</span>
            </li>
          ))}
        </ol>
      )}
    >
      <TextField label="Query" value={query} onChange={setQuery} rows={2} />
      <TextField label="Documents" hint="One per line." value={text} onChange={setText} rows={6} />
    </TaskFrame>
  )
}

/** Whether a text is flagged, and for what. */
export function ModerationsTab(props: TaskTabProps) {
  const [input, setInput] = useState('')
  return (
    <TaskFrame
      {...props}
      request={(model) => (input.trim() === '' ? null : { body: { model, input } })}
      show={(response) =>
        jsonOf<ModerationsResponse>(response)?.results.map((result, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: results keep their order
          <div key={index} className="stack">
            <p>
              {result.flagged ? <Badge tone="bad">Flagged</Badge> : <Badge tone="good">Not flagged</Badge>}
            </p>
            <ul className="divide-y divide-line">
              {categoriesOf(result).map(({ name, score, isFlagged }) => (
                <li key={name} className={`spread py-1 ${isFlagged ? 'font-semibold' : ''}`}>
                  <span>
                    {name}
                    {isFlagged && ' (flagged)'}
                  </span>
                  <span className="tabular-nums">{score.toFixed(4)}</span>
                </li>
              ))}
            </ul>
          </div>
        ))
      }
    >
      <TextField label="Text" value={input} onChange={setInput} rows={6} />
    </TaskFrame>
  )
}
