import swagger from '@fastify/swagger'
import plugin from 'fastify-plugin'
import { MessagesErrorBody } from '../../core/api/completions/message.ts'
import { errorResponses, type FailingOperation } from '../../core/api/reference/error-responses.ts'
import { promptField } from '../../core/api/reference/prompt-fields.ts'
import { DESCRIBED_FORMATS } from '../../core/api/schema-validator.ts'
import { ErrorBody } from '../../core/api/shared.ts'
import { SURFACES } from '../../core/api/surfaces/surface-registry.ts'

type Security = FailingOperation['security']

/** The authentication of the routes under a path; the first match applies. */
const AUDIENCES: ReadonlyArray<readonly [path: RegExp, tag: string, security: Security]> = [
  [/^\/v\d/, 'Gateway', 'apiKey'],
  [/^\/billing\//, 'Billing', 'apiKey'],
  [/^\/console\/api\//, 'Console', 'session'],
  [/^\/admin\/api\//, 'Operator', 'adminKey'],
  [/^\//, 'Public', null],
]

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

interface Operation {
  parameters?: Array<{ in: string }>
  requestBody?: object
  tags?: string[]
  security?: unknown[]
  responses: Record<string, unknown>
}

/** Collects the schemas of all routes registered after it; `app.swagger()` is their OpenAPI 3.1 document. */
export const openapi = plugin(
  async (app) => {
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Shuntyard',
          version: '1',
          description: 'A routing gateway for chat completions. docs/api.md says what the fields mean.',
        },
        components: {
          securitySchemes: {
            apiKey: { type: 'http', scheme: 'bearer' },
            adminKey: { type: 'http', scheme: 'bearer' },
            session: { type: 'apiKey', in: 'cookie', name: 'shuntyard_session' },
          },
        },
      },
      transformObject: (document) =>
        'openapiObject' in document ? described(document.openapiObject) : document.swaggerObject,
    })
  },
  { name: 'openapi' },
)

/** The published form of a schema: with its documented contents, and without our own formats. */
function documentedSchema({ documented, ...schema }: Record<string, unknown>, format: object | undefined) {
  if (format) delete schema.format
  const contents =
    typeof documented === 'string' ? promptField(documented) : (documented as object | undefined)
  return { ...format, ...schema, ...contents }
}

/** Adds the authentication and errors of each operation, and removes what is for validation only. */
function described<T extends { paths?: object | undefined; components?: object | undefined }>(
  document: T,
): T {
  const plain = JSON.parse(JSON.stringify(document), (name, value) => {
    if (name === 'errorMessage') return undefined
    const format = typeof value?.format === 'string' ? DESCRIBED_FORMATS[value.format] : undefined
    if (value?.documented !== undefined || format) return documentedSchema(value, format)
    // A parameter with a default is optional.
    if (value?.schema?.default !== undefined && value.in === 'query') return { ...value, required: false }
    return value
  })
  plain.components.schemas = {
    ...plain.components.schemas,
    Error: ErrorBody,
    MessagesError: MessagesErrorBody,
  }
  for (const [path, item] of Object.entries<Record<string, Operation>>(plain.paths)) {
    if (path.includes('*')) {
      delete plain.paths[path]
      continue
    }
    const [, tag, security] = AUDIENCES.find(([pattern]) => pattern.test(path))!
    for (const method of METHODS) {
      const operation = item[method]
      if (!operation) continue
      operation.tags = [tag]
      if (security !== null) operation.security = [{ [security]: [] }]
      const surface = SURFACES.find((known) => known.path === path && known.method === method.toUpperCase())
      const places = (operation.parameters ?? []).map((parameter) => parameter.in)
      const errors = errorResponses({
        security,
        hasBody: operation.requestBody !== undefined,
        isOfItem: places.includes('path'),
        surface,
      })
      operation.responses = { ...errors, ...operation.responses }
    }
  }
  return plain
}
