import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import files from '@fastify/static'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { CompletionsSource } from '../../core/catalog/completions-source.ts'
import { HOUR_MS } from '../../core/kernel/time.ts'
import { isOperatorApi } from './read-requests.ts'
import { secureHeaders } from './security-headers.ts'

export interface StaticConsoleOptions {
  /** The folder of the built pages: index.html, and files with content hashes in their names under assets/. */
  pagesFolder: string
  isSecure: boolean
  /** The base path of the gateway for browsers; empty: the root of its host. */
  publicPath: string
  /** Where completions come from. The document says so, that a page has its banner from the first paint on. */
  answers(): CompletionsSource
}

/** The paths of the console's pages; one document serves them all. */
const PAGES = [
  '/',
  '/models',
  '/models/*',
  '/sign-in',
  '/sign-up',
  '/verify',
  '/email',
  '/forgot-password',
  '/reset',
  '/dashboard',
  '/keys',
  '/keys/*',
  '/billing',
  '/billing/*',
  '/usage',
  '/calls',
  '/calls/*',
  '/session',
  '/presets',
  '/budgets',
  '/presets/*',
  '/provider-keys',
  '/webhooks',
  '/members',
  '/activity',
  '/organisation',
  '/invitation',
  '/playground',
  '/settings',
  '/docs',
  '/docs/*',
  '/status',
  '/status/providers',
  '/admin',
  '/admin/*',
]
const ASSETS = 'assets'
/** Pages are not part of the API's description. */
const UNDOCUMENTED = { hide: true }
const YEAR_MS = 31_536_000_000

const NOT_BUILT =
  'The pages of the console are not built. Build them with: npm run console:build\n' +
  'The API works without them: POST /v1/chat/completions.\n'

/** Serves the console's pages: assets are cached permanently, the document that names them never. */
export const staticConsole: FastifyPluginAsync<StaticConsoleOptions> = async (app, options) => {
  const { pagesFolder, isSecure, publicPath, answers } = options
  await secureHeaders(app, 'own-pages', isSecure)
  const isBuilt = () => existsSync(join(pagesFolder, 'index.html'))
  /** The document, with its absolute paths below the gateway's base path, and what it knows of the gateway. */
  const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
    const built = await readFile(join(pagesFolder, 'index.html'), 'utf8')
    const page = built
      .replace(/(?<=\b(?:href|src)=")(?=\/)/g, publicPath)
      .replace('<html', `<html data-answers="${answers()}"`)
    const etag = `"${createHash('sha256').update(page).digest('base64url')}"`
    reply.header('cache-control', 'no-cache').header('etag', etag)
    if (reply.statusCode === 200 && request.headers['if-none-match'] === etag) return reply.code(304).send()
    return reply.type('text/html; charset=utf-8').send(page)
  }

  await app.register(files, {
    root: pagesFolder,
    serve: false,
    // The build creates a .br and a .gz of every text file.
    preCompressed: true,
    cacheControl: false,
    suppressWarning: true,
  })
  for (const url of PAGES) {
    app.get(url, { schema: UNDOCUMENTED }, async (request, reply) => {
      if (isOperatorApi(request)) throw app.refusalOfUnrouted(request, reply)
      // Checked for every request, so that a new build is served without a restart.
      if (isBuilt()) return sendPage(request, reply)
      return reply.code(503).header('retry-after', '30').type('text/plain; charset=utf-8').send(NOT_BUILT)
    })
  }
  // A browser navigation to an unknown path gets a page; programs get the JSON error.
  app.get('/*', async (request, reply) => {
    if (!isNavigation(request) || !isBuilt()) throw app.refusalOfUnrouted(request, reply)
    return sendPage(request, reply.code(404))
  })
  app.get<{ Params: { '*': string } }>(`/${ASSETS}/*`, async (request, reply) =>
    // Only for existing files, never for a 404.
    reply.sendFile(`${ASSETS}/${request.params['*']}`, {
      cacheControl: true,
      maxAge: YEAR_MS,
      immutable: true,
    }),
  )
  for (const name of ['icon.svg', 'favicon.ico', 'robots.txt']) {
    app.get(`/${name}`, { schema: UNDOCUMENTED }, async (_, reply) =>
      reply.sendFile(name, { cacheControl: true, maxAge: HOUR_MS }),
    )
  }
}

/** Whether a request is a browser's navigation, which asks for a page. */
const isNavigation = ({ headers }: FastifyRequest): boolean =>
  headers['sec-fetch-mode'] === 'navigate' || (headers.accept ?? '').startsWith('text/html')
