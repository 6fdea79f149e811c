import plugin from 'fastify-plugin'
import { nestedTooDeep } from '../../core/chat-request.ts'
import { isJsonNestedDeeperThan, MAX_NESTING } from '../../core/nesting.ts'

/** A shorter body parses in milliseconds however it is nested; the check of its nesting can wait until then. */
const LONG_BODY_CHARS = 64 * 1024

/** The one body parser: JSON, without `__proto__`, and no long body nested beyond all reason. */
export const parseJson = plugin(
  async (app) => {
    const parse = app.getDefaultJsonParser('remove', 'ignore')
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body: string, done) => {
      if (body.length > LONG_BODY_CHARS && isJsonNestedDeeperThan(body, MAX_NESTING)) done(nestedTooDeep())
      else parse(request, body, done)
    })
  },
  { name: 'parse-json' },
)
