import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sendErrors } from '../../../src/http/plugins/send-errors.ts'
import { staticConsole } from '../../../src/http/plugins/static-console.ts'
import { unroutedRequests } from '../../../src/http/plugins/unrouted-requests.ts'
import { consoleClient, signedUp } from '../../helpers/console-client.ts'
import { getAs } from '../../helpers/requests.ts'
import { testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const POLICY =
  "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;font-src 'self';connect-src 'self';manifest-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'none'"
const SCRIPT = `export const yard = ${JSON.stringify('switch '.repeat(200))}`
const INDEX =
  '<!doctype html><html lang="en"><title>Shuntyard</title><script type="module" src="/assets/index-4711.js"></script>'
const SERVED = INDEX.replace('<html', '<html data-answers="mixed"')
const answers = () => 'mixed' as const

describe('the pages', () => {
  let folder: string
  let app: FastifyInstance

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'shuntyard-pages-'))
    app = Fastify({ routerOptions: { ignoreTrailingSlash: true } })
    await app.register(sendErrors, { logger: pino({ level: 'silent' }) })
    await app.register(unroutedRequests)
    await app.register(staticConsole, { pagesFolder: folder, isSecure: true, publicPath: '', answers })
    await app.ready()
  })
  afterAll(async () => {
    await app.close()
    await rm(folder, { recursive: true, force: true })
  })
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

  test('say how they are built while they are not, and are there once they are', async () => {
    const before = await get('/')
    expect(before.statusCode).toBe(503)
    expect(before.body).toContain('npm run console:build')
    await mkdir(join(folder, 'assets'))
    await writeFile(join(folder, 'index.html'), INDEX)
    const script = join(folder, 'assets', 'index-4711.js')
    await Promise.all([
      writeFile(script, SCRIPT),
      writeFile(`${script}.br`, brotliCompressSync(SCRIPT)),
      writeFile(`${script}.gz`, gzipSync(SCRIPT)),
    ])
    expect((await get('/')).body).toBe(SERVED)
  })

  test.each([
    '/',
    '/models',
    '/models/acme/large-1',
    '/sign-in',
    '/verify',
    '/email',
    '/forgot-password',
    '/reset',
    '/keys/',
    '/billing',
    '/calls/chatcmpl_1',
    '/admin',
    '/admin/calls',
  ])('the pages are one document at %s, revalidated each time, under the strict policy', async (path) => {
    const { statusCode, headers, body } = await get(path)
    expect([statusCode, body]).toEqual([200, SERVED])
    expect(headers['content-type']).toMatch(/^text\/html/)
    expect(headers['cache-control']).toBe('no-cache')
    expect(headers['content-security-policy']).toBe(POLICY)
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['strict-transport-security']).toBe('max-age=31536000')
  })

  test('revalidating a page costs a 304', async () => {
    const { headers } = await get('/')
    expect((await get('/', { 'if-none-match': String(headers.etag) })).statusCode).toBe(304)
  })

  test('load assets once and for all, compressed by the build', async () => {
    for (const encoding of ['br', 'gzip']) {
      const { headers } = await get('/assets/index-4711.js', { 'accept-encoding': encoding })
      expect(headers['content-encoding']).toBe(encoding)
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect(headers['content-type']).toMatch(/javascript/)
      expect(Number(headers['content-length'])).toBeLessThan(SCRIPT.length / 4)
    }
    expect((await get('/assets/index-4711.js')).body).toBe(SCRIPT)
  })

  test.each([
    ['accept', 'text/html,*/*;q=0.8'],
    ['sec-fetch-mode', 'navigate'],
  ])('an unknown page is a 404 with a readable text', async (name, value) => {
    const headers = { [name]: value }
    const answer = await get('/nowhere', headers)
    expect([answer.statusCode, answer.body]).toEqual([404, SERVED])
    expect(answer.headers['cache-control']).toBe('no-cache')
    expect(answer.headers['content-security-policy']).toBe(POLICY)
    expect((await get('/admin/api/nowhere', headers)).json()).toHaveProperty('error.code')
  })

  test.each([
    '/assets/none.js',
    '/assets/../../etc/passwd',
    '/assets/%2e%2e/index.html',
    '/nowhere',
    '/admin/api/nowhere',
  ])('are not at %s', async (path) => {
    const { statusCode, headers } = await get(path)
    expect(statusCode).toBe(404)
    expect(headers['content-type']).toMatch(/^application\/json/)
    expect(headers['cache-control'] ?? '').not.toContain('immutable')
  })
})

test('below a path of its host the document names its files there', async () => {
  const pagesFolder = await mkdtemp(join(tmpdir(), 'shuntyard-pages-'))
  const app = Fastify()
  await app.register(sendErrors, { logger: pino({ level: 'silent' }) })
  await app.register(unroutedRequests)
  await app.register(staticConsole, { pagesFolder, isSecure: true, publicPath: '/gw', answers })
  await writeFile(join(pagesFolder, 'index.html'), INDEX)
  for (const url of ['/models/acme/large-1', '/nothing']) {
    const { body } = await app.inject({ url, headers: { accept: 'text/html' } })
    expect(body).toBe(SERVED.replace('"/assets', '"/gw/assets'))
  }
  await app.close()
  await rm(pagesFolder, { recursive: true })
})

describe('headers', () => {
  const stack = testStack({
    environment: { PUBLIC_URL: 'https://gateway.example' },
  })

  test('of the console forbid framing, sniffing and keeping; its cookies are for this host over https alone', async () => {
    const client = consoleClient(stack.url)
    const response = await client.ask('/console/api/sign-up', {
      body: { email: 'secure@example.test', password: 'points and levers' },
    })
    expect(response.headers.getSetCookie()[0]).toMatch(
      /^__Host-shuntyard_session=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/,
    )
    expect(response.headers.get('content-security-policy')).toBe(POLICY)
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('strict-transport-security')).toBe('max-age=31536000')
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('accept a proxy in front that asks under another host, for the public address alone', async () => {
    const signOut = (origin: string) =>
      fetch(`${stack.url}/console/api/sign-out`, { method: 'POST', headers: { origin } })
    expect((await signOut('https://gateway.example')).status).toBe(204)
    await expectError(await signOut('http://gateway.example'), 403, 'not_permitted')
  })

  test('of the queue board allow its own styles and nothing else more', async () => {
    const response = await getAs(await stack.adminKey(), `${stack.url}/admin/queues`)
    expect(response.status).toBe(200)
    const page = await response.text()
    expect(page).toContain('<div id="root">')
    expect(page).not.toMatch(/(href|src)="(https?:)?\/\//)
    expect(response.headers.get('content-security-policy')).toBe(
      POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'").replace(
        "base-uri 'none'",
        "base-uri 'self'",
      ),
    )
  })

  test('of the API are none of these: a call pays for no page', async () => {
    const { key } = await stack.account('1.00')
    const response = await getAs(key, `${stack.url}/v1/key`)
    expect(response.status).toBe(200)
    for (const name of ['content-security-policy', 'x-frame-options', 'set-cookie']) {
      expect(response.headers.get(name)).toBeNull()
    }
  })

  test('of prices name their encoding, and each encoding has its tag', async () => {
    const tags = new Set<string>()
    for (const encoding of ['br', 'gzip', 'identity']) {
      const response = await fetch(`${stack.url}/pricing.json`, { headers: { 'accept-encoding': encoding } })
      expect(response.headers.get('content-encoding')).toBe(encoding === 'identity' ? null : encoding)
      expect(response.headers.get('vary')).toBe('accept-encoding')
      expect(((await response.json()) as { data: unknown[] }).data).toHaveLength(1)
      tags.add(response.headers.get('etag')!)
    }
    expect(tags.size).toBe(3)
  })

  test('unknown paths and methods of the console are JSON errors', async () => {
    const client = await signedUp(stack.url)
    await expectError(await client.ask('/console/api/nowhere'), 404, 'surface_unavailable')
    await expectError(
      await client.ask('/console/api/session', { method: 'DELETE' }),
      405,
      'method_not_allowed',
    )
  })
})
