import assert from 'node:assert/strict'
import { Ajv } from 'ajv'
import type { TSchema } from 'typebox'
import { EmbeddingsResponse } from '../../../src/core/api/reference/embeddings.ts'
import { ModerationsResponse } from '../../../src/core/api/reference/moderation.ts'
import { RerankResponse } from '../../../src/core/api/reference/rerank.ts'
import type { SurfaceId } from '../../../src/core/api/surfaces/surface-registry.ts'
import { type Answer, ask, type SurfaceGate } from '../check.ts'
import { answerTo, type OneAnswerSurface, oneAnswerGate } from './one-answer-gate.ts'

/** A surface that answers with JSON. */
type TaskSurface = Omit<OneAnswerSurface, 'isForm' | 'read' | 'envelope' | 'usage' | 'ignores'> & {
  /** What the provider is asked for. */
  upstreamModel: string
  answer: TSchema
}

interface TaskAnswer {
  id: string
  model: string
  usage?: { prompt_tokens: number }
}

function taskGate({ answer, upstreamModel, ...surface }: TaskSurface): SurfaceGate {
  const isAnswer = new Ajv().compile<TaskAnswer>(answer)
  const parse = ({ json }: Answer): TaskAnswer => {
    assert.ok(isAnswer(json), `not as described: ${JSON.stringify(isAnswer.errors)}`)
    return json
  }
  const read = (told: Answer) => {
    const { id: _, ...same } = parse(told)
    return same
  }
  return oneAnswerGate({
    ...surface,
    read,
    isForm: false,
    refused: [...surface.refused, [{ model: 7 }, 'model']],
    envelope: (told) => {
      const { id, model } = parse(told)
      assert.match(id, /^chatcmpl_/)
      assert.equal(model, surface.body.model)
    },
    ignores: (context) => {
      const [forwarded] = context.received(upstreamModel).slice(-1) as [Record<string, unknown>]
      assert.ok(!('unheard_of' in forwarded), 'an unknown field is forwarded')
    },
    usage: async (context) => {
      const { id, usage } = parse(await answerTo(context, { ...surface, read }, surface.body))
      const { status, json, text } = await ask(context, `/v1/generations/${id}`, { method: 'GET' })
      assert.equal(status, 200, text)
      const { usage: recorded } = json as { usage: { prompt_tokens: number; completion_tokens: number } }
      assert.equal(recorded.completion_tokens, 0)
      assert.ok(recorded.prompt_tokens > 0)
      if (usage) assert.equal(usage.prompt_tokens, recorded.prompt_tokens)
    },
  })
}

/** The gates of embeddings, rerank and moderations. */
export const TASK_GATES = {
  embeddings: taskGate({
    id: 'embeddings',
    path: '/v1/embeddings',
    body: { model: 'gate/embed', input: ['a train leaves', 'a queue grows'] },
    failingModel: 'gate/embed-failing',
    upstreamModel: 'dimensions-8.tag-gate',
    refused: [
      [{ input: undefined }, 'input'],
      [{ dimensions: 0 }, 'dimensions'],
      [{ encoding_format: 'hex' }, 'encoding_format'],
    ],
    answer: EmbeddingsResponse,
    client: async ({ embeddings }, model) => {
      const { data } = await embeddings.create({ model, input: 'one text', dimensions: 4 })
      assert.equal(data[0]!.embedding.length, 4)
      assert.ok(Math.abs(Math.hypot(...data[0]!.embedding) - 1) < 1e-5, 'a vector of unit length')
    },
  }),
  rerank: taskGate({
    id: 'rerank',
    path: '/v1/rerank',
    body: { model: 'gate/rerank', query: 'trains', documents: ['a train leaves', 'a queue grows'] },
    failingModel: 'gate/rerank-failing',
    upstreamModel: 'words-1.tag-gate',
    refused: [
      [{ query: undefined }, 'query'],
      [{ documents: [] }, 'documents'],
      [{ top_n: 0 }, 'top_n'],
    ],
    answer: RerankResponse,
    client: null,
  }),
  moderations: taskGate({
    id: 'moderations',
    path: '/v1/moderations',
    body: { model: 'gate/moderation', input: 'a train leaves' },
    failingModel: 'gate/moderation-failing',
    upstreamModel: 'words-2.tag-gate',
    refused: [[{ input: undefined }, 'input']],
    answer: ModerationsResponse,
    client: async ({ moderations }, model) => {
      const { results } = await moderations.create({ model, input: 'a train leaves' })
      assert.equal(typeof results[0]!.flagged, 'boolean')
    },
  }),
} satisfies Partial<Record<SurfaceId, SurfaceGate>>
