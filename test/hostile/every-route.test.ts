import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { KEY_SCOPES } from '../../src/core/accounts/key-scope.ts'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import { SURFACES } from '../../src/core/api/surfaces/surface-registry.ts'
import type { CreatedWebhook } from '../../src/core/api/webhooks.ts'
import { routerPath } from '../../src/http/public/surfaces.ts'
import { signedUp } from '../helpers/console-client.ts'
import { testStack } from '../helpers/resources.ts'
import type { Known } from './any-body.ts'
import { anyRequest, type Reach } from './any-request.ts'
import { QUIET_MODELS, type QuietCaller, quietCaller } from './quiet-caller.ts'
import { exchange, type RawAnswer, type RawRequest } from './raw-request.ts'
import { type RegisteredRoute, registeredRoutes } from './registered-routes.ts'

/*
 * Every route of the application, asked for what it may or may not take. The seed is always the same, so that a
 * change is tested by what the last one was; FUZZ_SEED and FUZZ_RUNS look further. A failure prints the smallest request
 * that fails, with its seed and path.
 */

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122)
const RUNS = Number(process.env.FUZZ_RUNS ?? 250)

/** Who asks: their header lines, and what they know of. */
interface Requester {
  headers: string[]
  known: Known
}

let routes: RegisteredRoute[]
let quiet: QuietCaller

const stack = testStack({
  processes: true,
  models: QUIET_MODELS,
  environment: {
    SIGN_UPS_PER_ADDRESS: '100000',
    ACCOUNT_REQUESTS_PER_MINUTE: '100000',
    REFUSED_REQUESTS_PER_MINUTE: '100000',
  },
})
beforeAll(async () => {
  routes = await registeredRoutes(stack.environment)
  quiet = await quietCaller(stack)
})

const noIds: Known = { ids: ['chatcmpl_01KB2Q3R4S5T6V7W8X9Y0Z1A2B'], model: 'test/quiet' }

const ASKERS: Record<string, Reach & { create: () => Promise<Requester> }> = {
  nobody: { paths: /./, methods: null, create: async () => ({ headers: [], known: noIds }) },
  'an API key': {
    paths: /^\/(?:v1\/(?:chat|models|generations|key|credits|usage|provider-keys)|v2\/|billing|pricing)/,
    methods: null,
    create: async () => {
      const { key, keyId, accountId } = await stack.account('1.00', { scopes: [...KEY_SCOPES] })
      return {
        headers: [`authorization: Bearer ${key}`],
        known: { ...noIds, ids: [keyId, accountId, ...noIds.ids] },
      }
    },
  },
  'a session': {
    paths: /^\/console\/api\//,
    methods: null,
    create: async () => {
      const client = await signedUp(stack.url)
      const { key } = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'a' } })
      const { webhook } = await client.json<CreatedWebhook>('/console/api/webhooks', {
        body: { url: 'https://example.com/' },
      })
      const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      return { headers: [`cookie: ${cookie}`], known: { ...noIds, ids: [key.id, webhook.id, ...noIds.ids] } }
    },
  },
  'an admin key': {
    paths: /^\/(?:admin\/|v1\/models)/,
    // Only to look: what operators change would change the gateway for the others.
    methods: ['GET', 'HEAD'],
    create: async () => ({ headers: [`authorization: Bearer ${await stack.adminKey()}`], known: noIds }),
  },
}

/** It signed itself out, revoked its key, or has asked with what is not its own. */
const isOut = ({ body }: RawAnswer) => /"code":"(?:not_signed_in|invalid_api_key|key_revoked)"/.test(body)

/** Throws where an answer is none that a gateway in good health gives. */
function expectSound(answer: RawAnswer, { method, headers }: RawRequest): void {
  const { status, body } = answer
  // The front end is built apart; where it was not, its pages are no JSON but say so in words.
  if (status === 503 && body.startsWith('The pages of the console are not built.')) return
  // A browser that opens an address that is none is told so by a page, once the pages are built.
  const isNavigation =
    headers.includes('sec-fetch-mode: navigate') || headers.some((line) => /^accept:.*text\/html/.test(line))
  if (status === 404 && isNavigation && body.startsWith('<!doctype html>')) return
  if (status >= 500) expect(status, body).toBe(503)
  if (status < 400 || method === 'HEAD') return
  if (status === 503) expect(body).toMatch(/"code":"(?:overloaded|no_provider_available)"/)
  const { error, ...others } = JSON.parse(body)
  // Bull Board says to its own page what is wrong in its own way; it takes an admin key.
  if (/^ERRORS\./.test(error?.key)) return
  // Clients of the messages wire read the type beside the error.
  const ofMessagesWire = { type: 'error', request_id: answer.headers['x-request-id'] }
  expect(others).toEqual(others.type === 'error' ? ofMessagesWire : {})
  const { metadata: _, ...fields } = error
  expect(fields).toEqual({
    message: expect.stringMatching(/\S/),
    type: expect.stringMatching(/_error$/),
    param: fields.param === null ? null : expect.any(String),
    code: expect.stringMatching(/^[a-z_]+$/),
    request_id: answer.headers['x-request-id'],
  })
}

test('the routes are those of the registry, and more', () => {
  const paths = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  for (const { method, path } of SURFACES) expect(paths).toContain(`${method} ${routerPath(path)}`)
  expect(paths).toContain('POST /console/api/sign-in')
  expect(paths).toContain('GET /healthz')
})

test(
  'every route answers any input in the documented format and delays no other caller',
  async () => {
    const fuzz = Object.values(ASKERS).map(async ({ create, ...reach }, index) => {
      let requester = await create()
      const property = fc.asyncProperty(anyRequest(routes, requester.known, reach), async (request) => {
        const headers = [...requester.headers, ...request.headers]
        const answer = await exchange(stack.url, { ...request, headers })
        expectSound(answer, request)
        if (isOut(answer)) requester = await create()
      })
      await fc.assert(property, { seed: SEED + index, numRuns: RUNS })
    })
    await quiet.isServedWhile(Promise.all(fuzz))
    for (const part of [...stack.apis, ...stack.dispatch, stack.settlement])
      expect(part.isRunning()).toBe(true)
  },
  process.env.FUZZ_RUNS ? 900_000 : undefined,
)
