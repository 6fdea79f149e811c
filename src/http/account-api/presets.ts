import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { PRESET_BOUNDS, type StoredPreset } from '../../accounts/presets/preset-store.ts'
import { jsonView } from '../../core/api/json-view.ts'
import {
  NewPresetVersion,
  PresetDeleted,
  PresetDetail,
  PresetList,
  PresetQuery,
  PresetView,
} from '../../core/api/presets.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { readPresetSettings } from '../../core/presets/preset.ts'
import { byKey, bySession, type EditorAccess } from './account-access.ts'

const BODY_LIMIT_BYTES = 64 * 1024

/** GET and POST /v2/presets, GET and DELETE /v2/presets/{name}: the presets of an account. */
export const presetsRoute = (path: string): FastifyPluginAsyncTypebox =>
  presetRoutes(path, (app) => byKey(app, 'presets', 'Admin keys belong to no account. Use a standard key.'))

/** The same under /console/api, for the session's account. */
export const consolePresetRoutes: FastifyPluginAsyncTypebox = presetRoutes('/presets', (app) =>
  bySession(app, 'keys', 'integrations'),
)

function presetRoutes(
  path: string,
  accessOf: (app: FastifyInstance) => EditorAccess,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const { presets, throttleAccount } = app.accounts
    const { requester, hooks, changing, schema, author, record } = accessOf(app)
    const ofName = { ...schema, params: Type.Object({ name: Type.String() }) }
    const changes = { ...changing, bodyLimit: BODY_LIMIT_BYTES }

    const listing = { ...schema, summary: "The account's presets", response: { 200: PresetList } }
    app.get(path, { ...hooks, schema: listing }, async (request) => ({
      object: 'list' as const,
      data: (await presets.list(requester(request).accountId)).map(presetView),
    }))

    const saving = {
      ...schema,
      summary: 'Save a version of a preset',
      body: NewPresetVersion,
      response: { 201: PresetView },
    }
    app.post(path, { ...changes, schema: saving }, async (request, reply) => {
      const { accountId } = requester(request)
      const { name, settings, restore } = request.body
      if ((settings === undefined) === (restore === undefined))
        throw invalid('settings', 'Send `settings`, or the number of an earlier version as `restore`.')
      const version = { name, author: author(request) }
      const read = settings && readPresetSettings(settings)
      await throttleAccount('key-edit', accountId)
      const saved = read
        ? await presets.save(accountId, { ...version, settings: read })
        : await presets.restore(accountId, { ...version, version: restore! })
      if (saved.kind !== 'saved') throw notSaved(saved.kind)
      const { preset } = saved
      await record(request, 'preset.saved', name, { name, version: preset.version })
      return reply.code(201).send(presetView(preset))
    })

    const reading = {
      ...ofName,
      summary: 'A preset with its versions',
      querystring: PresetQuery,
      response: { 200: PresetDetail },
    }
    app.get(`${path}/:name`, { ...hooks, schema: reading }, async (request) => {
      const { name } = request.params
      const found = await presets.find(requester(request).accountId, {
        name,
        version: request.query.version ?? null,
      })
      if (!found) throw unknownPreset()
      const versions = found.versions.map(({ version, createdAt }) => ({
        version,
        created_at: isoTime(createdAt),
      }))
      return { ...presetView(found), versions }
    })

    const deleting = { ...ofName, summary: 'Delete a preset', response: { 200: PresetDeleted } }
    app.delete(`${path}/:name`, { ...changes, schema: deleting }, async (request) => {
      const { accountId } = requester(request)
      const { name } = request.params
      await throttleAccount('key-edit', accountId)
      if (!(await presets.remove(accountId, name))) throw unknownPreset()
      await record(request, 'preset.deleted', name, { name })
      return { name, object: 'preset' as const, deleted: true as const }
    })
  }
}

const presetView = (preset: StoredPreset): PresetView =>
  jsonView(PresetView, { ...preset, object: 'preset' as const, model: `@preset/${preset.name}` })

const unknownPreset = () => new ApiError('not_found', 'This account has no such preset or version.')

function notSaved(kind: 'too-many' | 'too-many-in-all' | 'unknown'): ApiError {
  switch (kind) {
    case 'too-many':
      return invalid('name', `An account has ${PRESET_BOUNDS.active} presets at most. Delete one first.`)
    case 'too-many-in-all':
      return invalid(
        'name',
        `This account has used ${PRESET_BOUNDS.inAll} names of presets. Use one of those.`,
      )
    case 'unknown':
      return unknownPreset()
    default:
      return kind satisfies never
  }
}
