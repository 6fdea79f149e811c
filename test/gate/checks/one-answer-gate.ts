import assert from 'node:assert/strict'
import OpenAI, { NotFoundError } from 'openai'
import { VERSION } from 'openai/version'
import type { SurfaceId } from '../../../src/core/api/surfaces/surface-registry.ts'
import { type Answer, ask, type Check, expectError, type GateContext, type SurfaceGate } from '../check.ts'
import { bearerKeyOnly, errorsTold, expectNothingHidden, fieldsRefused, limitsTold } from './common-checks.ts'

/** A surface that answers one request with one answer: no stream, no tools. */
export interface OneAnswerSurface {
  id: SurfaceId
  path: string
  body: { model: string } & Record<string, unknown>
  failingModel: string
  /** It takes a form instead of JSON. */
  isForm: boolean
  /** Changes of the body that are refused, and the parameter that the answer names. */
  refused: ReadonlyArray<readonly [changes: Record<string, unknown>, param: string]>
  /** Throws where it is no answer to the body. Returns what does not differ from answer to answer. */
  read: (answer: Answer) => unknown
  /** Throws where the answer lacks what goes around every answer of the surface. */
  envelope: (answer: Answer) => void
  usage: Check['run']
  /** Throws where an unknown field had an effect. */
  ignores?: (context: GateContext) => void
  /** Null: no official client library has it. */
  client: ((client: OpenAI, model: string) => Promise<unknown>) | null
}

/** What the surface answers to a body that it takes. */
export async function answerTo(
  context: GateContext,
  { path, read }: Pick<OneAnswerSurface, 'path' | 'read'>,
  body: object,
): Promise<Answer> {
  const answer = await ask(context, path, { body })
  assert.equal(answer.status, 200, answer.text)
  expectNothingHidden(answer)
  read(answer)
  return answer
}

const clientOf = ({ url, key, fetch }: GateContext) =>
  new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, logLevel: 'off', fetch })

/** Everything that the gate demands of such a surface. */
export function oneAnswerGate(surface: OneAnswerSurface): SurfaceGate {
  const { id, path, body, failingModel, isForm, refused, read, client } = surface
  const refusedBodies = refused.map(([changes, param]) => [{ ...body, ...changes }, param] as const)

  const exactPath = async (context: GateContext) => {
    await answerTo(context, surface, body)
    expectError(await ask(context, path, { method: 'GET' }), 'method_not_allowed', 405)
    for (const other of [`${path}/more`, path.replace('/v1', '')])
      expectError(await ask(context, other, { body }), 'surface_unavailable', 404)
  }

  const ignoredFields = async (context: GateContext) => {
    const plain = await answerTo(context, surface, body)
    const other = await answerTo(context, surface, { ...body, unheard_of: isForm ? 'yes' : [null] })
    assert.deepEqual(read(other), read(plain))
    surface.ignores?.(context)
  }

  const clientLibrary = async (context: GateContext) => {
    await client!(clientOf(context), body.model)
    await assert.rejects(client!(clientOf(context), 'gate/none'), NotFoundError)
    return `openai ${VERSION}`
  }

  // Models of other kinds are none here.
  const models = { unknown: ['gate/none', 'gate/plain'], failing: failingModel }
  const unreadable = isForm ? (['unsupported_media_type', 415] as const) : undefined
  const checks: Check[] = [
    { name: 'path', subject: 'exact path', run: exactPath },
    { name: 'bearer key', subject: 'auth header', run: bearerKeyOnly(path, body) },
    { name: 'required fields', subject: 'required fields', run: fieldsRefused(path, refusedBodies) },
    { name: 'ignored fields', subject: 'ignored fields', run: ignoredFields },
    {
      name: 'answer',
      subject: 'non-stream envelope',
      run: async (context) => surface.envelope(await answerTo(context, surface, body)),
    },
    { name: 'usage as recorded', subject: 'usage', run: surface.usage },
    { name: 'errors', subject: 'errors', run: errorsTold(path, body, models, unreadable) },
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
