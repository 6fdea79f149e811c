import { beforeAll, describe, expect, test } from 'vitest'
import type {
  NewRecoveryCodes,
  NewTotp,
  PasskeyAsked,
  SecondFactorAsked,
  SecondFactorView,
} from '../../../src/core/api/second-factor.ts'
import { type ConsoleClient, consoleClient, PASSWORD, signedUp } from '../../helpers/console-client.ts'
import { expectAbsent } from '../../helpers/everything-stored.ts'
import { testStack } from '../../helpers/resources.ts'
import { createSoftwarePasskey } from '../../helpers/software-passkey.ts'
import { codeOf } from '../../helpers/totp-code.ts'
import { expectError } from '../wire.ts'

const BASE = '/console/api/second-factor'
const SIGN_IN = '/console/api/sign-in'
const CONFIRMED = { current_password: PASSWORD }

let origin: string

const stack = testStack({
  environment: {
    TRUSTED_PROXIES: '127.0.0.1',
  },
})
beforeAll(() => {
  origin = stack.url
})

async function withApp() {
  const client = await signedUp(stack.url)
  const { secret, uri } = await client.json<NewTotp>(`${BASE}/totp`, { body: CONFIRMED })
  const confirmed = await client.json<NewRecoveryCodes>(`${BASE}/totp/confirm`, {
    body: { code: codeOf(secret) },
  })
  return { client, email: client.email, secret, uri, codes: confirmed.recovery_codes ?? [] }
}

async function withPasskey() {
  const client = await signedUp(stack.url)
  const passkey = createSoftwarePasskey(origin)
  const { step, options } = await client.json<PasskeyAsked>(`${BASE}/passkey-options`, { body: CONFIRMED })
  const asked = { challenge: String(options.challenge) }
  const added = await client.json<NewRecoveryCodes>(`${BASE}/passkeys`, {
    body: { step, name: 'Laptop', passkey: passkey.create(asked) },
  })
  return { client, email: client.email, passkey, codes: added.recovery_codes ?? [] }
}

/** The first step of a sign-in. */
async function givePassword(email: string, client: ConsoleClient = consoleClient(stack.url)) {
  const response = await client.ask(SIGN_IN, { body: { email, password: PASSWORD } })
  expect(response.status).toBe(202)
  expect(response.headers.getSetCookie()).toEqual([])
  const asked = (await response.json()) as SecondFactorAsked
  return {
    client,
    ...asked,
    give: (factor: object, from = '198.51.100.1') =>
      client.ask(`${SIGN_IN}/second-factor`, {
        body: { step: asked.step, ...factor },
        headers: { 'x-forwarded-for': from },
      }),
  }
}

describe('an authenticator app', () => {
  test('is asked for at sign-in once its first code was right; the password alone opens nothing', async () => {
    const { email, secret, uri, client } = await withApp()
    expect(uri).toMatch(/^otpauth:\/\/totp\/Shuntyard:/)
    expect(await client.json<SecondFactorView>(BASE)).toEqual({
      totp: true,
      passkeys: [],
      recovery_codes_left: 10,
    })
    const sign = await givePassword(email)
    expect(sign).toMatchObject({ totp: true, passkey: null })
    await expectError(await sign.client.ask('/console/api/session'), 401, 'not_signed_in')
    const wrong = await expectError(await sign.give({ code: '000000' }), 401, 'invalid_credentials')
    expect(wrong.param).toBe('code')
    const answer = await sign.give({ code: codeOf(secret, 1) })
    expect(answer.status).toBe(200)
    expect((await sign.client.ask('/console/api/session')).status).toBe(200)
  })

  test('is not asked for before that', async () => {
    const client = await signedUp(stack.url)
    const { secret } = await client.json<NewTotp>(`${BASE}/totp`, { body: CONFIRMED })
    const sign = () =>
      consoleClient(stack.url).ask(SIGN_IN, { body: { email: client.email, password: PASSWORD } })
    expect((await sign()).status).toBe(200)
    await expectError(
      await client.ask(`${BASE}/totp/confirm`, { body: { code: '000000' } }),
      401,
      'invalid_credentials',
    )
    expect((await sign()).status).toBe(200)
    // Begun anew, the first secret is worth nothing.
    const { secret: next } = await client.json<NewTotp>(`${BASE}/totp`, { body: CONFIRMED })
    await expectError(
      await client.ask(`${BASE}/totp/confirm`, { body: { code: codeOf(secret) } }),
      401,
      'invalid_credentials',
    )
    expect((await client.ask(`${BASE}/totp/confirm`, { body: { code: codeOf(next) } })).status).toBe(200)
    await expectError(await client.ask(`${BASE}/totp`, { body: CONFIRMED }), 409, 'conflict')
  })

  test('no code is taken twice, also of several requests at once', async () => {
    const { email, secret } = await withApp()
    // The code that confirmed it.
    const replay = await givePassword(email)
    await expectError(await replay.give({ code: codeOf(secret) }), 401, 'invalid_credentials')
    const code = codeOf(secret, 1)
    const signs = await Promise.all(Array.from({ length: 4 }, () => givePassword(email)))
    const answers = await Promise.all(signs.map((sign) => sign.give({ code })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401])
  })

  test('guesses of authenticator codes are limited by account, over all addresses', async () => {
    const { email, secret } = await withApp()
    const first = await givePassword(email)
    for (let guess = 0; guess < 10; guess++)
      await expectError(await first.give({ code: '000000' }), 401, 'invalid_credentials')
    const second = await givePassword(email)
    const elsewhere = '203.0.113.7'
    await expectError(await second.give({ code: codeOf(secret, 1) }, elsewhere), 429, 'rate_limit_exceeded')
  })

  test('guesses at codes of an app and recovery codes block no recovery code from elsewhere', async () => {
    const { email, codes } = await withApp()
    const guessing = await givePassword(email)
    for (const wrong of [{ code: '000000' }, { recovery_code: 'aaaa-aaaa-aaaa-aaaa' }]) {
      for (let guess = 0; guess < 10; guess++)
        await expectError(await guessing.give(wrong), 401, 'invalid_credentials')
      await expectError(await guessing.give(wrong), 429, 'rate_limit_exceeded')
    }
    const holder = await givePassword(email)
    expect((await holder.give({ recovery_code: codes[0] }, '203.0.113.7')).status).toBe(200)
  })

  test('a sign-in is finished once, within ten minutes, and with the password it began with', async () => {
    const { client, email, codes } = await withApp()
    const done = await givePassword(email)
    expect((await done.give({ recovery_code: codes[0] })).status).toBe(200)
    expect(
      (await expectError(await done.give({ recovery_code: codes[1] }), 401, 'invalid_credentials')).param,
    ).toBe('step')
    const late = await givePassword(email)
    await stack.postgres.signInStep.updateMany({ data: { expiresAt: new Date(0) } })
    await expectError(await late.give({ recovery_code: codes[1] }), 401, 'invalid_credentials')
    const overtaken = await givePassword(email)
    const changed = await client.ask('/console/api/password', {
      body: { current_password: PASSWORD, new_password: 'switches and signals' },
    })
    expect(changed.status).toBe(204)
    await expectError(await overtaken.give({ recovery_code: codes[2] }), 401, 'invalid_credentials')
    await expectError(await overtaken.client.ask('/console/api/session'), 401, 'not_signed_in')
  })

  test('a step of one account takes no code of another, and exactly one factor', async () => {
    const [ann, ben] = [await withApp(), await withApp()]
    const sign = await givePassword(ann.email)
    await expectError(await sign.give({ code: codeOf(ben.secret, 1) }), 401, 'invalid_credentials')
    await expectError(await sign.give({ recovery_code: ben.codes[0] }), 401, 'invalid_credentials')
    await expectError(await sign.give({}), 400, 'invalid_request')
    await expectError(
      await sign.give({ code: codeOf(ann.secret, 1), recovery_code: ann.codes[0] }),
      400,
      'invalid_request',
    )
    await expectError(
      await sign.client.ask(`${SIGN_IN}/second-factor`, {
        body: { step: sign.step, code: codeOf(ann.secret, 1) },
        headers: { 'sec-fetch-site': 'cross-site' },
      }),
      403,
      'not_permitted',
    )
  })

  test('is stored sealed, and recovery codes and steps as hashes', async () => {
    const { email, secret, codes } = await withApp()
    const { step } = await givePassword(email)
    const rows = await stack.postgres.$queryRaw<{ row: string }[]>`
      SELECT t::text AS row FROM account_totp t UNION ALL SELECT t::text FROM recovery_codes t
      UNION ALL SELECT t::text FROM sign_in_steps t`
    expect(rows.length).toBeGreaterThan(11)
    expectAbsent(rows.map(({ row }) => row).join('\n'), [secret, step, ...codes], 'what is stored')
  })
})

describe('recovery codes', () => {
  test('replace the factor once each, however they are typed', async () => {
    const { email, codes, client } = await withApp()
    expect(new Set(codes).size).toBe(10)
    const [code = ''] = codes
    const first = await givePassword(email)
    expect((await first.give({ recovery_code: ` ${code.toUpperCase().replaceAll('-', ' ')} ` })).status).toBe(
      200,
    )
    const second = await givePassword(email)
    await expectError(await second.give({ recovery_code: code }), 401, 'invalid_credentials')
    expect((await client.json<SecondFactorView>(BASE)).recovery_codes_left).toBe(9)
  })

  test('are replaced by new ones, with the password', async () => {
    const { email, codes, client } = await withApp()
    await expectError(
      await client.ask(`${BASE}/recovery-codes`, { body: { current_password: 'another password' } }),
      400,
      'invalid_request',
    )
    const fresh = await client.json<NewRecoveryCodes>(`${BASE}/recovery-codes`, { body: CONFIRMED })
    const sign = await givePassword(email)
    await expectError(await sign.give({ recovery_code: codes[0] }), 401, 'invalid_credentials')
    expect((await sign.give({ recovery_code: fresh.recovery_codes?.[0] })).status).toBe(200)
  })
})

describe('the second factor', () => {
  test('changes with the password only, and goes with its last part', async () => {
    const { client, email } = await withApp()
    const wrong = { current_password: 'another password' }
    for (const path of ['totp/remove', 'passkey-options', 'recovery-codes', 'passkeys/none/remove']) {
      const refused = await expectError(
        await client.ask(`${BASE}/${path}`, { body: wrong }),
        400,
        'invalid_request',
      )
      expect(refused.param).toBe('current_password')
    }
    expect((await client.ask(`${BASE}/totp/remove`, { body: CONFIRMED })).status).toBe(204)
    expect(await client.json<SecondFactorView>(BASE)).toMatchObject({ totp: false, recovery_codes_left: 0 })
    const sign = await consoleClient(stack.url).ask(SIGN_IN, { body: { email, password: PASSWORD } })
    expect(sign.status).toBe(200)
  })

  test('is removed by an operator, in the audit log, for who lost everything', async () => {
    const { email } = await withApp()
    const { code, json } = await stack.command('admin', 'account', 'reset-second-factor', email)
    expect(code).toBe(0)
    const target = json.account_id as string
    expect(await stack.postgres.operatorAction.findFirst({ where: { target } })).toMatchObject({
      action: 'account.reset-second-factor',
    })
    const sign = await consoleClient(stack.url).ask(SIGN_IN, { body: { email, password: PASSWORD } })
    expect(sign.status).toBe(200)
  })
})

describe('a passkey', () => {
  test('is a second factor after the password', async () => {
    const { email, passkey, codes, client } = await withPasskey()
    expect(codes).toHaveLength(10)
    const { passkeys } = await client.json<SecondFactorView>(BASE)
    expect(passkeys).toMatchObject([{ id: passkey.id, name: 'Laptop', last_used_at: null }])
    const sign = await givePassword(email)
    expect(sign.totp).toBe(false)
    const asked = { challenge: String(sign.passkey?.challenge) }
    expect((await sign.give({ passkey: passkey.get(asked, { isVerified: false }) })).status).toBe(200)
    expect((await sign.client.ask('/console/api/session')).status).toBe(200)
  })

  test('signs in alone if its device verified its holder', async () => {
    const { passkey } = await withPasskey()
    const sign = async (isVerified: boolean) => {
      const client = consoleClient(stack.url)
      const { step, options } = await client.json<PasskeyAsked>(`${SIGN_IN}/passkey-options`, { body: {} })
      expect(options.userVerification).toBe('required')
      const asked = { challenge: String(options.challenge) }
      const body = { step, passkey: passkey.get(asked, { isVerified }) }
      const response = await client.ask(`${SIGN_IN}/passkey`, { body })
      return { client, body, response }
    }
    await expectError((await sign(false)).response, 401, 'invalid_credentials')
    const { client, body, response } = await sign(true)
    expect(response.status).toBe(200)
    expect((await client.ask('/console/api/session')).status).toBe(200)
    await expectError(
      await consoleClient(stack.url).ask(`${SIGN_IN}/passkey`, { body }),
      401,
      'invalid_credentials',
    )
  })

  test('signs for this site, this challenge and this account only', async () => {
    const [ann, ben] = [await withPasskey(), await withPasskey()]
    const sign = await givePassword(ann.email)
    const asked = { challenge: String(sign.passkey?.challenge) }
    for (const passkey of [
      ann.passkey.get({ challenge: 'AAAA' }),
      ann.passkey.get(asked, { site: 'http://evil.example' }),
      ben.passkey.get(asked),
      createSoftwarePasskey(origin).get(asked),
      { ...ben.passkey.get(asked), id: ann.passkey.id, rawId: ann.passkey.id },
    ])
      await expectError(await sign.give({ passkey }), 401, 'invalid_credentials')
    expect((await sign.give({ passkey: ann.passkey.get(asked) })).status).toBe(200)
  })

  test('of a copied authenticator, whose count went back, is refused', async () => {
    const { email, passkey } = await withPasskey()
    await stack.postgres.passkey.update({ where: { id: passkey.id }, data: { counter: 1_000 } })
    const sign = await givePassword(email)
    const asked = { challenge: String(sign.passkey?.challenge) }
    await expectError(await sign.give({ passkey: passkey.get(asked) }), 401, 'invalid_credentials')
  })

  test('is added by who began it, once, and with its own challenge', async () => {
    const [ann, ben] = [await signedUp(stack.url), await signedUp(stack.url)]
    const begin = () => ann.json<PasskeyAsked>(`${BASE}/passkey-options`, { body: CONFIRMED })
    const body = ({ step, options }: PasskeyAsked, challenge = String(options.challenge)) => ({
      step,
      name: 'Key',
      passkey: createSoftwarePasskey(origin).create({ challenge }),
    })
    const begun = await begin()
    await expectError(await ben.ask(`${BASE}/passkeys`, { body: body(begun) }), 401, 'invalid_credentials')
    await expectError(
      await ann.ask(`${BASE}/passkeys`, { body: body(begun, 'AAAA') }),
      400,
      'invalid_request',
    )
    await expectError(await ann.ask(`${BASE}/passkeys`, { body: body(begun) }), 401, 'invalid_credentials')
    expect((await ann.ask(`${BASE}/passkeys`, { body: body(await begin()) })).status).toBe(200)
  })

  test('is removed by its account only', async () => {
    const [ann, ben] = [await withPasskey(), await withPasskey()]
    const path = `${BASE}/passkeys/${ann.passkey.id}/remove`
    await expectError(await ben.client.ask(path, { body: CONFIRMED }), 404, 'not_found')
    expect((await ann.client.ask(path, { body: CONFIRMED })).status).toBe(204)
    const sign = await consoleClient(stack.url).ask(SIGN_IN, {
      body: { email: ann.email, password: PASSWORD },
    })
    expect(sign.status).toBe(200)
  })
})
