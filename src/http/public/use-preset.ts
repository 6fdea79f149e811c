import type { FastifyRequest } from 'fastify'
import type { PresetCache } from '../../accounts/presets/preset-cache.ts'
import type { PresetSettings } from '../../core/api/presets.ts'
import type { ChatBody } from '../../core/calls/chat-request.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { WithPreset } from '../../core/presets/apply-preset.ts'
import { namesPreset, type PresetReference, presetLabel, presetReference } from '../../core/presets/preset.ts'
import type { CallBody } from '../calls/serve-call.ts'
import { callingKey } from '../plugins/authenticate.ts'

/**
 * The body of a call with the preset that its `model` names. The preset's bytes count as part of the body. Throws
 * ApiError `model_not_found` for a preset or version that the account does not have.
 */
export async function withPreset<Body extends Pick<ChatBody, 'model' | 'models'>>(
  request: FastifyRequest & { body: Body },
  presets: Pick<PresetCache, 'lookup'>,
  apply: (body: Body, settings: PresetSettings) => WithPreset<Body>,
): Promise<CallBody<Body>> {
  const { body } = request
  if (!namesPreset(body)) return { body }
  const reference = presetReference(body.model as string)
  const found = reference && (await presets.lookup(callingKey(request).accountId, reference))
  if (!found) throw noSuchPreset(reference)
  const bytes = Buffer.byteLength(found.settings.system ?? '')
  request.bodyReservation?.grow(bytes)
  request.bodyBytes += bytes
  const weights = body.models == null ? found.settings.weights : null
  return { ...apply(body, found.settings), preset: { label: presetLabel(found), weights } }
}

function noSuchPreset(reference: PresetReference | null): ApiError {
  const message =
    reference === null
      ? 'A preset is named as `@preset/name`, and one of its versions as `@preset/name@3`.'
      : reference.version === null
        ? `This account has no preset '${reference.name}'.`
        : `This account has no version ${reference.version} of a preset '${reference.name}'.`
  return new ApiError('model_not_found', message, { param: 'model' })
}
