import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { CleanupTasks } from '../../calls/cleanup-tasks.ts'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import type { RequestOf } from '../../core/calls/call-request.ts'
import type { ResultContent } from '../../core/calls/kinds/call-kinds.ts'
import { invalid } from '../../core/kernel/errors.ts'
import { newCallId } from '../../core/kernel/ids.ts'
import type { BodyOwner, BodyStore } from '../../platform/body-store/body-store.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { resultFormat, type WriteResult } from '../calls/result-format.ts'
import { type CallServices, serveCall } from '../calls/serve-call.ts'
import { callingKey, mayCall } from '../plugins/authenticate.ts'
import { readUpload, takeForms, type Upload } from '../read-upload.ts'

/** The routes of calls that request a result: validate, start the call, write its result. */

interface ResultSurface<Content> {
  summary: string
  write: WriteResult<Content>
}

interface JsonSurface<Schema extends TSchema, Content> extends ResultSurface<Content> {
  body: Schema
  normalize: (body: Static<Schema>) => RequestOf<Content>
  /** The result is in files. */
  makesFiles?: true
}

interface FormSurface<Content> extends ResultSurface<Content> {
  body: TSchema
  normalize: (form: Upload) => RequestOf<Content>
  files: { files: number; fileBytes: number; bodyBytes: number }
}

type Route = (path: string, surface: Pick<Surface, 'id'>) => FastifyPluginAsyncTypebox

const FIELD_LIMITS = { fields: 64, fieldBytes: 128 * 1024 }

/** A route with a JSON body. */
export const jsonRoute =
  <Schema extends TSchema, Content extends ResultContent>(result: JsonSurface<Schema, Content>): Route =>
  (path, { id }) =>
  async (app) => {
    const { summary, body, normalize, write, makesFiles = false } = result
    const deps = app.calls
    app.post(
      path,
      {
        onRequest: [
          app.requireKey,
          app.requireSurface(id),
          mayCall,
          ...(makesFiles ? [refuseIdempotencyKey] : []),
          app.weighBody,
        ],
        bodyLimit: deps.limits.textBodyLimitBytes,
        schema: { summary, body },
      },
      async (request, reply) => {
        const read = () => normalize(request.body as Static<Schema>)
        if (makesFiles) return serveWithFiles(async () => read(), write, request, reply, deps)
        const call = read()
        const { content, models } = call
        const fingerprint = { surface: id, task: content, models }
        const options = { fingerprint, format: resultFormat(content, write) }
        return serveCall(callingKey(request), call, options, request, reply, deps)
      },
    )
  }

/** A route with a form, whose files are stored until the call is over. */
export const formRoute =
  <Content extends ResultContent>(result: FormSurface<Content>): Route =>
  (path, { id }) =>
  async (app) => {
    const { summary, body, normalize, files, write } = result
    const deps = app.calls
    const limits = { ...FIELD_LIMITS, ...files }
    const uploads = { store: deps.files, logger: deps.logger, idleMs: deps.limits.bodyIdleMs }
    takeForms(app)
    app.post(
      path,
      {
        onRequest: [app.requireKey, app.requireSurface(id), mayCall, refuseIdempotencyKey],
        schema: { summary, consumes: ['multipart/form-data'], body },
        // The fields of a form are validated after it is read.
        validatorCompiler: () => (value: unknown) => ({ value }),
      },
      async (request, reply) =>
        serveWithFiles(
          async (owner) => {
            const form = await readUpload(request, owner, limits, uploads)
            const key = callingKey(request)
            // The values of its fields are replaced in place.
            if (key.guardrails)
              await (await deps.guards()).prompt(key, Object.fromEntries(form.fields), request, reply)
            return normalize(form)
          },
          write,
          request,
          reply,
          deps,
        ),
    )
  }

/** Responses with files are not stored for repeats. */
const refuseIdempotencyKey = ({ headers }: FastifyRequest, _reply: FastifyReply, done: () => void) => {
  if (headers['idempotency-key'] !== undefined)
    throw invalid('Idempotency-Key', 'Calls with files do not support `Idempotency-Key`. Omit the header.')
  done()
}

/** Makes a call whose files are removed when it is over. */
async function serveWithFiles<Content extends ResultContent>(
  read: (owner: { accountId: string; callId: string }) => Promise<RequestOf<Content>>,
  write: WriteResult<Content>,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: CallServices,
): Promise<FastifyReply> {
  const key = callingKey(request)
  const callId = newCallId(deps.clock())
  const { cleanup } = deps.pathOf(key.accountId).dispatch
  const files = createCallFiles({ accountId: key.accountId, callId }, reply, { files: deps.files, cleanup })
  try {
    const call = await read(files.owner)
    const { dispatched } = files
    const options = { fingerprint: null, format: resultFormat(call.content, write), callId, dispatched }
    return await serveCall(key, call, options, request, reply, deps)
  } catch (error) {
    files.failed()
    throw error
  }
}

interface CallFilesDependencies {
  files: Pick<BodyStore, 'remove'>
  cleanup: CleanupTasks
}

/** The files of one call, which are removed once its response is closed and the call is over. */
function createCallFiles(owner: BodyOwner, reply: FastifyReply, { files, cleanup }: CallFilesDependencies) {
  const holders = new Set(['response', 'call'])
  const release = (holder: string) => {
    if (holders.delete(holder) && holders.size === 0) cleanup.add(() => files.remove(owner))
  }
  let isDispatched = false
  whenResponseCloses(reply.raw, () => release('response'))
  return {
    owner,
    /** See ServeOptions. */
    dispatched: () => {
      isDispatched = true
      return () => release('call')
    },
    /** Removes the files of a request that failed; `call` is absent if the request had none yet. */
    failed: () => {
      if (!isDispatched) release('call')
    },
  }
}
