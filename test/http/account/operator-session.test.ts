import { beforeAll, describe, expect, test } from 'vitest'
import type { OperatorSession, OperatorSignInBody } from '../../../src/core/api/sessions.ts'
import { consoleClient, signedUp } from '../../helpers/console-client.ts'
import { testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const SESSION = '/admin/api/session'
const QUEUES = '/admin/queues'

let adminKey: string

const stack = testStack()
beforeAll(async () => {
  adminKey = await stack.adminKey()
})

async function signedIn(key = adminKey) {
  const client = consoleClient(stack.url)
  const session = await client.json<OperatorSession>(SESSION, {
    body: { admin_key: key } satisfies OperatorSignInBody,
  })
  return { client, session }
}

describe('an operator', () => {
  test('signs in with an admin key, and has the board and the JSON behind a cookie for twelve hours', async () => {
    const client = consoleClient(stack.url)
    const response = await client.ask(SESSION, { body: { admin_key: adminKey } })
    expect(response.status).toBe(201)
    expect(response.headers.getSetCookie()[0]).toMatch(
      /^shuntyard_operator=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/,
    )
    const text = await response.text()
    expect(text).not.toContain(adminKey)
    const session = JSON.parse(text) as OperatorSession
    const hours = (Date.parse(session.expires_at) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(11.9)
    expect(hours).toBeLessThanOrEqual(12)
    expect(await client.json(SESSION)).toEqual(session)
    expect(await client.json('/admin/api/visitor')).toEqual({
      session,
      single_sign_on: null,
      admin_keys: true,
    })
    expect((await client.ask(QUEUES)).status).toBe(200)
    expect((await client.ask(`${QUEUES}/api/queues`)).status).toBe(200)
  })

  test('signs out for good', async () => {
    const { client } = await signedIn()
    const copy = consoleClient(stack.url)
    for (const [name, value] of client.cookies) copy.cookies.set(name, value)
    expect((await client.ask(SESSION, { method: 'DELETE' })).status).toBe(204)
    await expectError(await copy.ask(SESSION), 401, 'not_signed_in')
    expect(await copy.json('/admin/api/visitor')).toMatchObject({ session: null })
    expect((await copy.ask(`${QUEUES}/api/queues`)).status).toBe(401)
  })

  test('is out as soon as the admin key is revoked', async () => {
    const { json } = await stack.command('admin', 'admin-key', 'create', '--name', 'leaver')
    const { client, session } = await signedIn(json.key as string)
    expect((await client.ask(`${QUEUES}/api/queues`)).status).toBe(200)
    await stack.command('admin', 'key', 'revoke', session.key_id!)
    await expectError(await client.ask(SESSION), 401, 'not_signed_in')
    expect((await client.ask(`${QUEUES}/api/queues`)).status).toBe(401)
  })

  test('does not get in with an ordinary key, a made-up one, or the session of an account', async () => {
    const { key } = await stack.account('1.00')
    const client = consoleClient(stack.url)
    await expectError(await client.ask(SESSION, { body: { admin_key: key } }), 403, 'not_permitted')
    await expectError(
      await client.ask(SESSION, { body: { admin_key: 'sk-sy-admin-x' } }),
      401,
      'invalid_credentials',
    )
    const holder = await signedUp(stack.url)
    holder.cookies.set('shuntyard_operator', holder.cookies.get('shuntyard_session')!)
    expect((await holder.ask(`${QUEUES}/api/queues`)).status).toBe(401)
    await expectError(await holder.ask(SESSION), 401, 'not_signed_in')
  })

  test('changes nothing from the page of another site', async () => {
    const { client } = await signedIn()
    const headers = { 'sec-fetch-site': 'cross-site' }
    await expectError(await client.ask(SESSION, { method: 'DELETE', headers }), 403, 'not_permitted')
    await expectError(
      await client.ask(SESSION, { body: { admin_key: adminKey }, headers }),
      403,
      'not_permitted',
    )
    const board = await client.ask(`${QUEUES}/api/queues/dispatch/pause`, { method: 'PUT', headers })
    expect(board.status).toBe(403)
    expect((await client.ask(SESSION)).status).toBe(200)
  })

  test.each([
    ['Sec-Fetch-Site', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['a foreign origin', () => ({ origin: 'https://evil.example' })],
    ['our host by another scheme', () => ({ origin: stack.url.replace('http:', 'https:') })],
  ])(
    'a password that the browser sends for another site changes nothing, recognized by %s',
    async (_, from) => {
      const run = (headers: Record<string, string>) =>
        fetch(`${stack.url}/admin/api/audit/run`, {
          method: 'POST',
          headers: { authorization: `Basic ${btoa(`operator:${adminKey}`)}`, ...headers },
        })
      await expectError(await run(from()), 403, 'not_permitted')
      expect((await run({ origin: stack.url })).status).not.toBe(403)
      // A program, such as curl, says nothing of where it is from.
      expect((await run({})).status).not.toBe(403)
    },
  )

  test('a browser without an operator session is redirected to the sign-in, and a program gets 401', async () => {
    const page = await consoleClient(stack.url).ask(QUEUES, {
      headers: { accept: 'text/html,*/*', 'sec-fetch-mode': 'navigate' },
    })
    expect(page.status).toBe(302)
    expect(page.headers.get('location')).toBe('/admin?next=%2Fadmin%2Fqueues')
    const program = await fetch(stack.url + QUEUES)
    expect(program.status).toBe(401)
    expect(program.headers.get('www-authenticate')).toMatch(/^Basic /)
    // No dialog of the browser's own, where a page asks in the background.
    const background = await consoleClient(stack.url).ask(`${QUEUES}/api/queues`)
    expect(background.status).toBe(401)
    expect(background.headers.get('www-authenticate')).toBe('Bearer')
  })
})
