import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { SurfaceId } from '../../core/api/surfaces/surface-registry.ts'
import type { ChatRequest } from '../../core/calls/chat-request.ts'
import {
  ImageEditForm,
  ImageGenerationBody,
  normalizeImageEdit,
  normalizeImageGeneration,
  normalizeSpeech,
  normalizeTranscription,
  SpeechBody,
  TranscriptionForm,
  TranslationForm,
} from '../../core/calls/media-request.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { newCallId } from '../../core/kernel/ids.ts'
import { createCallFiles } from '../calls/call-files.ts'
import { readUpload, takeForms, type Upload } from '../calls/read-upload.ts'
import { type CallServices, callingKey, mayCall, serveCall } from '../calls/serve-call.ts'
import { taskFormat } from '../calls/task-format.ts'

/** POST of what makes or reads files: take the files in, start the call, send what it made, remove the files. */

interface MediaSurface {
  id: SurfaceId
  summary: string
  body: TSchema
}

interface JsonSurface<Body> extends MediaSurface {
  normalize: (body: Body) => ChatRequest
}

interface FormSurface extends MediaSurface {
  normalize: (form: Upload) => ChatRequest
  files: { files: number; fileBytes: number; bodyBytes: number }
}

type Route = (path: string) => FastifyPluginAsyncTypebox

const MEGABYTE = 1024 * 1024
const FIELD_LIMITS = { fields: 64, fieldBytes: 128 * 1024 }

/** Answers in files are kept for no repeat. */
const refuseIdempotencyKey = ({ headers }: FastifyRequest, _reply: FastifyReply, done: () => void) => {
  if (headers['idempotency-key'] !== undefined)
    throw new ApiError('invalid_request', 'Calls with files take no `Idempotency-Key`.', {
      param: 'Idempotency-Key',
    })
  done()
}

const jsonRoute =
  <Body>({ id, summary, body, normalize }: JsonSurface<Body>): Route =>
  (path) =>
  async (app) => {
    const deps = app.services.callPath
    app.post(
      path,
      {
        onRequest: [app.requireKey, app.requireSurface(id), mayCall, refuseIdempotencyKey, app.weighBody],
        bodyLimit: deps.limits.textBodyLimitBytes,
        schema: { summary, body },
      },
      async (request, reply) => serveMedia(async () => normalize(request.body as Body), request, reply, deps),
    )
  }

const formRoute =
  ({ id, summary, body, normalize, files }: FormSurface): Route =>
  (path) =>
  async (app) => {
    const deps = app.services.callPath
    const limits = { ...FIELD_LIMITS, ...files }
    const uploads = { store: deps.files, logger: deps.dispatch.logger, idleMs: deps.limits.bodyIdleMs }
    takeForms(app)
    app.post(
      path,
      {
        onRequest: [app.requireKey, app.requireSurface(id), mayCall, refuseIdempotencyKey],
        schema: { summary, consumes: ['multipart/form-data'], body },
        // The fields of a form are validated once it is read.
        validatorCompiler: () => (value: unknown) => ({ value }),
      },
      async (request, reply) =>
        serveMedia(
          async (owner) => normalize(await readUpload(request, owner, limits, uploads)),
          request,
          reply,
          deps,
        ),
    )
  }

async function serveMedia(
  read: (owner: { accountId: string; callId: string }) => Promise<ChatRequest>,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: CallServices,
): Promise<FastifyReply> {
  const key = callingKey(request)
  const callId = newCallId(deps.clock())
  const { cleanup } = deps.dispatch
  const files = createCallFiles({ accountId: key.accountId, callId }, reply, { files: deps.files, cleanup })
  try {
    const chat = await read(files.owner)
    const asked = { chat, fingerprint: null, format: taskFormat(chat.task!), planned: { callId } }
    return await serveCall(key, { ...asked, dispatched: files.dispatched }, request, reply, deps)
  } catch (error) {
    files.failed()
    throw error
  }
}

export const imageGenerationsRoute = jsonRoute<ImageGenerationBody>({
  id: 'images.generations',
  summary: 'Images from a prompt',
  body: ImageGenerationBody,
  normalize: normalizeImageGeneration,
})

export const speechRoute = jsonRoute<SpeechBody>({
  id: 'audio.speech',
  summary: 'Speech from a text',
  body: SpeechBody,
  normalize: normalizeSpeech,
})

export const imageEditsRoute = formRoute({
  id: 'images.edits',
  summary: 'Images from images and a prompt',
  body: ImageEditForm,
  normalize: normalizeImageEdit,
  files: { files: 17, fileBytes: 25 * MEGABYTE, bodyBytes: 100 * MEGABYTE },
})

const RECORDING = { files: 1, fileBytes: 25 * MEGABYTE, bodyBytes: 26 * MEGABYTE }

export const transcriptionsRoute = formRoute({
  id: 'audio.transcriptions',
  summary: 'The text of a recording',
  body: TranscriptionForm,
  normalize: (form) => normalizeTranscription(form, false),
  files: RECORDING,
})

export const translationsRoute = formRoute({
  id: 'audio.translations',
  summary: 'The text of a recording, in English',
  body: TranslationForm,
  normalize: (form) => normalizeTranscription(form, true),
  files: RECORDING,
})
