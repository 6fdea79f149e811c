import assert from 'node:assert/strict'
import { Ajv } from 'ajv'
import OpenAI, { NotFoundError } from 'openai'
import { VERSION } from 'openai/version'
import type { TSchema } from 'typebox'
import type { SurfaceId } from '../../../src/core/api/surface-registry.ts'
import { EmbeddingsAnswer, ModerationsAnswer, RerankAnswer } from '../../../src/core/api/task-answers.ts'
import { ask, type Check, expectError, type GateContext, type SurfaceGate } from '../check.ts'
import { bearerKeyOnly, errorsTold, expectNothingHidden, fieldsRefused, limitsTold } from './common-checks.ts'

/** A surface that answers one request with one object. */
interface TaskSurface {
  id: SurfaceId
  path: string
  body: { model: string } & Record<string, unknown>
  failingModel: string
  /** What the provider is asked for. */
  upstreamModel: string
  /** Bodies that are refused, and the parameter that the answer names. */
  refused: ReadonlyArray<readonly [changes: Record<string, unknown>, param: string]>
  answer: TSchema
  /** Null: no official client library has it. */
  client: ((client: OpenAI, model: string) => Promise<unknown>) | null
}

interface TaskAnswer {
  id: string
  model: string
  usage?: { prompt_tokens: number }
}

const clientOf = ({ url, key, fetch }: GateContext) =>
  new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, logLevel: 'off', fetch })

/** Everything that the gate demands of such a surface. */
function taskGate(surface: TaskSurface): SurfaceGate {
  const { id, path, body, failingModel, upstreamModel, refused, answer, client } = surface
  const refusedBodies = [...refused, [{ model: 7 }, 'model'] as const].map(
    ([changes, param]) => [{ ...body, ...changes }, param] as const,
  )
  const isAnswer = new Ajv().compile<TaskAnswer>(answer)

  const answerOf = async (context: GateContext, asked: object = body): Promise<TaskAnswer> => {
    const told = await ask(context, path, { body: asked })
    const { status, text, json } = told
    assert.equal(status, 200, text)
    assert.ok(isAnswer(json), `not as described: ${JSON.stringify(isAnswer.errors)}`)
    expectNothingHidden(told)
    return json
  }

  const exactPath = async (context: GateContext) => {
    await answerOf(context)
    expectError(await ask(context, path, { method: 'GET' }), 'method_not_allowed', 405)
    for (const other of [`${path}/more`, path.replace('/v1', '')])
      expectError(await ask(context, other, { body }), 'surface_unavailable', 404)
  }

  const ignoredFields = async (context: GateContext) => {
    const { id: _, ...plain } = await answerOf(context)
    const { id: __, ...other } = await answerOf(context, { ...body, unheard_of: [null] })
    assert.deepEqual(other, plain)
    const [forwarded] = context.received(upstreamModel).slice(-1) as [Record<string, unknown>]
    assert.ok(!('unheard_of' in forwarded), 'an unknown field is forwarded')
  }

  const envelope = async (context: GateContext) => {
    const { id: callId, model } = await answerOf(context)
    assert.match(callId, /^chatcmpl_/)
    assert.equal(model, body.model)
  }

  const usage = async (context: GateContext) => {
    const { id: callId, usage: told } = await answerOf(context)
    const { status, json, text } = await ask(context, `/v1/generations/${callId}`, { method: 'GET' })
    assert.equal(status, 200, text)
    const { usage: recorded } = json as { usage: { prompt_tokens: number; completion_tokens: number } }
    assert.equal(recorded.completion_tokens, 0)
    assert.ok(recorded.prompt_tokens > 0)
    if (told) assert.equal(told.prompt_tokens, recorded.prompt_tokens)
  }

  const clientLibrary = async (context: GateContext) => {
    await client!(clientOf(context), body.model)
    await assert.rejects(client!(clientOf(context), 'gate/none'), NotFoundError)
    return `openai ${VERSION}`
  }

  const checks: Check[] = [
    { name: 'path', subject: 'exact path', run: exactPath },
    { name: 'bearer key', subject: 'auth header', run: bearerKeyOnly(path, body) },
    { name: 'required fields', subject: 'required fields', run: fieldsRefused(path, refusedBodies) },
    { name: 'ignored fields', subject: 'ignored fields', run: ignoredFields },
    { name: 'answer', subject: 'non-stream envelope', run: envelope },
    { name: 'usage as recorded', subject: 'usage', run: usage },
    // Models of other kinds are none here.
    {
      name: 'errors',
      subject: 'errors',
      run: errorsTold(path, body, { unknown: ['gate/none', 'gate/plain'], failing: failingModel }),
    },
    { name: 'limits', subject: 'rate limits', run: limitsTold(path, body) },
    ...(client
      ? [{ name: 'openai for Node', subject: 'client libraries', run: clientLibrary } as const]
      : []),
  ]
  return {
    checks: checks.map((check) => ({ ...check, name: `${id}: ${check.name}` })),
    without: {
      'streaming protocol': 'it does not stream',
      'tool-call deltas': 'it calls no tools',
      ...(client === null && { 'client libraries': 'no official client library has it' }),
    },
  }
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
    answer: EmbeddingsAnswer,
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
    answer: RerankAnswer,
    client: null,
  }),
  moderations: taskGate({
    id: 'moderations',
    path: '/v1/moderations',
    body: { model: 'gate/moderation', input: 'a train leaves' },
    failingModel: 'gate/moderation-failing',
    upstreamModel: 'words-2.tag-gate',
    refused: [[{ input: undefined }, 'input']],
    answer: ModerationsAnswer,
    client: async ({ moderations }, model) => {
      const { results } = await moderations.create({ model, input: 'a train leaves' })
      assert.equal(typeof results[0]!.flagged, 'boolean')
    },
  }),
} satisfies Partial<Record<SurfaceId, SurfaceGate>>
