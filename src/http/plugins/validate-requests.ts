/**
 * Request validation. A route declares TypeBox schemas; Ajv compiles each once, when the route is registered:
 *
 *     export const things: FastifyPluginAsyncTypebox<Dependencies> = async (app, { store }) => {
 *       app.post(PATH, { onRequest: [app.requireKey], schema: { body: NewThing, response: { 201: Thing } } },
 *         async (request, reply) => reply.code(201).send(viewOf(await store.add(request.body.name))))
 *     }
 *
 * - Validation runs after the body is parsed and before the handler: hooks that answer 401 and 403 (`onRequest`, or
 *   `preValidation` for what comes after a body that cannot be parsed) go first.
 * - `Type.Object({...}, { additionalProperties: false })` refuses unknown fields; without it they are accepted.
 * - Bodies are not coerced. In a query string an empty parameter counts as absent, and digits become a number where
 *   the schema says integer. Defaults are filled in: `limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 })`.
 * - The first offending field is reported: an unknown one, else in the order of the schema. The wording follows from
 *   the schema (`defaultWording` in src/core/api/schema-validator.ts); `errorMessage` replaces it. A text covers every error of the schema and of
 *   what is inside it; a record covers single keywords: `{ errorMessage: { additionalProperties: 'Unknown field.' } }`.
 *   `{param}` in it stands for the path of the field.
 * - `format` takes the names of SCHEMA_FORMATS (src/core/api/schema-formats.ts); `nullable()` makes a type nullable.
 * - Response schemas type the handlers and document them. Responses are written by JSON.stringify, as without one.
 */
import plugin from 'fastify-plugin'
import type { TSchema } from 'typebox'
import { createValidator } from '../../core/api/schema-validator.ts'

/** Validates requests by the schemas of their routes. */
export const validateRequests = plugin(
  async (app) => {
    app.setValidatorCompiler<TSchema>(({ schema, httpPart }) => {
      const validate = createValidator(schema, httpPart === 'querystring')
      return (value: unknown) => {
        const error = validate(value)
        return error ? { error } : { value }
      }
    })
    app.setSerializerCompiler(() => (payload) => JSON.stringify(payload))
  },
  { name: 'validate-requests' },
)
