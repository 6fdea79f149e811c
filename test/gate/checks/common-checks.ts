import assert from 'node:assert/strict'
import { type Answer, ask, type Check, expectError, type GateContext } from '../check.ts'
import { HIDDEN_WORDS, LIMITED_REQUESTS_PER_MINUTE } from '../gate-models.ts'

/** No answer names a provider or its target, in its body or its headers. */
export function expectNothingHidden({ text, headers }: Answer): void {
  const told = `${text}\n${[...headers].join('\n')}`
  for (const word of HIDDEN_WORDS) assert.ok(!told.includes(word), `the answer names ${word}`)
}

/** A surface takes a key of its own as bearer token, and nothing else. */
export const bearerKeyOnly =
  (path: string, body: object): Check['run'] =>
  async (context) => {
    const strangers: Array<Record<string, string>> = [
      {},
      { 'x-api-key': context.key },
      { authorization: 'Bearer sk-sy-none' },
    ]
    for (const headers of strangers) {
      const refused = await ask(context, path, { body, key: null, headers })
      assert.equal(refused.status, 401)
      assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
    }
  }

/** Bodies that are refused name the parameter that is at fault. */
export const fieldsRefused =
  (path: string, refused: ReadonlyArray<readonly [body: unknown, param: string]>): Check['run'] =>
  async (context) => {
    for (const [body, param] of refused) {
      const error = expectError(await ask(context, path, { body }), 'invalid_request', 400)
      assert.equal(error.param, param, `${error.param} is named for ${JSON.stringify(body)}`)
    }
  }

/** An unreadable body, a model that nobody has, and a provider that fails. */
export const errorsTold =
  (
    path: string,
    body: object,
    models: { unknown: readonly string[]; failing: string },
    [unreadable, status]: readonly [code: string, status: number] = ['invalid_json', 400],
  ): Check['run'] =>
  async (context) => {
    expectError(await ask(context, path, { body: '{"model":' }), unreadable, status)
    for (const model of models.unknown)
      expectError(await ask(context, path, { body: { ...body, model } }), 'model_not_found', 404)
    const failed = await ask(context, path, { body: { ...body, model: models.failing } })
    const code = failed.status === 502 ? 'all_providers_failed' : 'no_provider_available'
    expectError(failed, code, 502, 503)
    expectNothingHidden(failed)
  }

/** The limit of a key, what remains of it, and when to come back. */
export const limitsTold =
  (path: string, body: object): Check['run'] =>
  async (context: GateContext) => {
    const limited = { body, key: context.limitedKey }
    for (let call = 1; call <= LIMITED_REQUESTS_PER_MINUTE; call++) {
      const { status, headers, text } = await ask(context, path, limited)
      assert.equal(status, 200, text)
      const remaining = headers.get('x-ratelimit-remaining-requests')
      assert.equal(remaining, String(LIMITED_REQUESTS_PER_MINUTE - call))
    }
    const refused = await ask(context, path, limited)
    expectError(refused, 'rate_limit_exceeded', 429)
    const wait = Number(refused.headers.get('retry-after'))
    assert.ok(wait >= 1 && wait <= 60, `Retry-After is ${wait}`)
  }
