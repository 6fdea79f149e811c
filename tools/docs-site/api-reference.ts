import { Registry } from 'prom-client'
import { type AppDependencies, buildApp } from '../../src/http/app.ts'
import { openapi } from '../../src/http/plugins/openapi.ts'
import { operatorAccess } from '../../src/http/plugins/operator-access.ts'
import { weighBodies } from '../../src/http/plugins/read-requests.ts'
import { accountSessions } from '../../src/http/plugins/session.ts'
import { surfaceAccess } from '../../src/http/plugins/surface-access.ts'
import { surfaceRoutes } from '../../src/http/public/surfaces.ts'
import { type OpenApi, type Operation, operationsOf, type SchemaField } from '../../web/lib/openapi-view.ts'

/** What promises and Fastify's decorators look for in what they are given. */
const UNSEEN = new Set<unknown>(['then', 'getter', 'setter'])

/** A service of which routes take members when they are registered; no request uses one. */
const standIn = (known: object = {}): object =>
  new Proxy(() => undefined, {
    get: (_, name) => (UNSEEN.has(name) ? undefined : (Reflect.get(known, name) ?? standIn())),
    apply: () => standIn(),
  })

/** The OpenAPI document of the surfaces, as a gateway at the address serves it. It needs no services. */
async function openApiDocument(publicUrl: string): Promise<OpenApi> {
  const limits = new Proxy({}, { get: () => 1 })
  const [billing, catalog, operators] = [standIn(), standIn(), standIn()]
  const calls = standIn({ limits })
  const services = { calls, accounts: standIn({ publicUrl }), billing, catalog, operators }
  const config = {
    ...{ publicUrl: null, trustedProxies: [], corsOrigins: [], connectionsPerAddress: 1 },
    ...TIMES,
  }
  const parts = { config, services, documentation: openapi, registry: new Registry(), accessLogger: null }
  const app = await buildApp(
    { ...parts, report: standIn() } as unknown as AppDependencies,
    async (app, options) => {
      await app.register(operatorAccess, standIn() as never)
      await app.register(surfaceAccess)
      await app.register(accountSessions, standIn() as never)
      await app.register(weighBodies, options)
      await app.register(surfaceRoutes, options)
    },
  )
  const { body } = await app.inject({ url: '/openapi.json' })
  await app.close()
  return JSON.parse(body) as OpenApi
}

const TIMES = { bodyTimeoutMs: 1_000, unreadTimeoutMs: 1_000, shutdownGraceMs: 0, shutdownDelayMs: 0 }

/** The API reference as a page: every operation with its fields, responses and a sample. */
export async function apiReference(publicUrl: string): Promise<string> {
  const operations = operationsOf(await openApiDocument(publicUrl))
  const groups = Map.groupBy(operations, ({ tag }) => tag)
  const parts = [...groups].flatMap(([tag, ofTag]) => [`## ${tag}`, ...ofTag.map(section)])
  return ['# API reference', INTRODUCTION, ...parts].join('\n\n')
}

const INTRODUCTION =
  'Every operation of the gateway, from the document that it serves at `/openapi.json`. [api.md](api.md) says what the fields mean.'

function section({
  method,
  path,
  summary,
  description,
  samples,
  parameters,
  bodies,
  responses,
}: Operation): string {
  const [sample] = samples
  return [
    `### \`${method} ${path}\``,
    ...(summary === `${method} ${path}` ? [] : [`**${text(summary)}**`]),
    ...(description ? [text(description)] : []),
    ...(parameters.length > 0 ? ['**Parameters**', fieldTable(parameters)] : []),
    ...bodies.flatMap(({ mediaType, fields, type }) => [
      `**Body** \`${mediaType}\``,
      fields.length > 0 ? fieldTable(fields) : text(type),
    ]),
    '**Responses**',
    table(
      ['status', 'body', 'meaning'],
      responses.map(({ status, mediaType, description }) => [status, mediaType ?? '', description]),
    ),
    ...responses.flatMap(({ status, fields }) =>
      fields.length > 0 && status !== 'default' ? [`**${status}**`, fieldTable(fields)] : [],
    ),
    ...(sample ? [`\`\`\`sh\n${sample.source}\n\`\`\``] : []),
  ].join('\n\n')
}

const fieldTable = (fields: readonly SchemaField[]): string =>
  table(['field', 'type', 'notes'], rowsOf(fields, ''))

/** The fields with those inside them, by their paths. */
const rowsOf = (fields: readonly SchemaField[], above: string): string[][] =>
  fields.flatMap(({ name, type, required, notes, fields: inner }) => [
    [`\`${above}${name}\`${required ? ', required' : ''}`, type, notes.join('; ')],
    ...rowsOf(inner, `${above}${name}.`),
  ])

const table = (head: readonly string[], rows: ReadonlyArray<readonly string[]>): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(text).join(' | ')} |`).join('\n')

/** A text of the document in a cell, in which nothing is a template. */
const text = (value: string): string =>
  value.replaceAll('|', '\\|').replaceAll('{{', '{ {').replace(/\s+/g, ' ').trim()
