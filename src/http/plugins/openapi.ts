import swagger from '@fastify/swagger'
import plugin from 'fastify-plugin'
import { ErrorBody } from '../../core/api/shared.ts'

/** Who may use the routes under a path, the first that fits. */
const AUDIENCES: ReadonlyArray<readonly [path: RegExp, tag: string, security: string | null]> = [
  [/^\/v\d/, 'Gateway', 'apiKey'],
  [/^\/billing\//, 'Billing', 'apiKey'],
  [/^\/console\/api\//, 'Console', 'session'],
  [/^\/admin\/api\//, 'Operator', 'adminKey'],
  [/^\//, 'Public', null],
]

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const

interface Operation {
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
          title: 'Switchyard',
          version: '1',
          description: 'A routing gateway for chat completions. docs/api.md says what the fields mean.',
        },
        components: {
          securitySchemes: {
            apiKey: { type: 'http', scheme: 'bearer' },
            adminKey: { type: 'http', scheme: 'bearer' },
            session: { type: 'apiKey', in: 'cookie', name: 'switchyard_session' },
          },
        },
      },
      transformObject: (document) =>
        'openapiObject' in document ? described(document.openapiObject) : document.swaggerObject,
    })
  },
  { name: 'openapi' },
)

/** Adds to each operation who may use it and how it fails, and leaves out what is meant for validation alone. */
function described<T extends { paths?: object | undefined; components?: object | undefined }>(
  document: T,
): T {
  const plain = JSON.parse(JSON.stringify(document), (name, value) => {
    if (name === 'errorMessage') return undefined
    // A parameter with a default may be left out.
    if (value?.schema?.default !== undefined && value.in === 'query') return { ...value, required: false }
    return value
  })
  plain.components.schemas = { ...plain.components.schemas, Error: ErrorBody }
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
      operation.responses.default = {
        description: 'The error',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      }
    }
  }
  return plain
}
