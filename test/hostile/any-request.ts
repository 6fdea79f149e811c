import fc from 'fast-check'
import { anyBody, type Known } from './any-body.ts'
import { HEADERS, ODD_METHODS, ODD_PIECES, QUERY_NAMES, QUERY_VALUES } from './odd-values.ts'
import type { RawRequest } from './raw-request.ts'
import type { RegisteredRoute } from './registered-routes.ts'

export interface Reach {
  /** Paths that are open to who asks; they are asked for more often. */
  paths: RegExp
  /** Null: any, also such as no route has. */
  methods: readonly string[] | null
}

/** Requests for any of the routes: near what each takes, or nothing like it. */
export function anyRequest(
  routes: readonly RegisteredRoute[],
  known: Known,
  { paths, methods }: Reach,
): fc.Arbitrary<RawRequest> {
  const methodsOf = Map.groupBy(routes, ({ path }) => path)
  const all = [...methodsOf.keys()]
  const route = fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...all) },
    { weight: 3, arbitrary: fc.constantFrom(...all.filter((path) => paths.test(path))) },
  )
  return route.chain((path) => {
    const own = (methodsOf.get(path) ?? []).map(({ method }) => method)
    const method = methods
      ? fc.constantFrom(...methods)
      : fc.oneof(
          { weight: 6, arbitrary: fc.constantFrom(...own) },
          { weight: 1, arbitrary: fc.constantFrom(...ODD_METHODS) },
        )
    return fc.record({
      method,
      target: target(path, known),
      headers: headers(),
      body: anyBody(path, known),
    })
  })
}

const oddPiece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...ODD_PIECES) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }).map(encodeURIComponentLoosely) },
  { weight: 1, arbitrary: fc.webPath({ size: 'small' }) },
)

function encodeURIComponentLoosely(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}

function target(path: string, { ids }: Known): fc.Arbitrary<string> {
  const name = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...ids) }, { weight: 3, arbitrary: oddPiece })
  const pieces = path
    .split('/')
    .map((piece) => (piece.startsWith(':') || piece === '*' ? name : fc.constant(piece)))
  const value = fc.oneof(oddPiece, fc.constantFrom(...ids, ...QUERY_VALUES))
  const parameter = fc
    .tuple(
      fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...QUERY_NAMES) }, { weight: 1, arbitrary: oddPiece }),
      value,
    )
    .map(([key, text]) => `${key}=${text}`)
  // Without a key of the account it hears nothing else.
  const needed = path.startsWith('/console/api/playground/') ? [`key_id=${ids[0]}`] : []
  const query = fc
    .array(parameter, { maxLength: 3 })
    .map((some) => [...needed, ...some])
    .map((all) => (all.length > 0 ? `?${all.join('&')}` : ''))
  const changed = fc.oneof(
    { weight: 12, arbitrary: fc.constant((text: string) => text) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<(text: string) => string>(
        (text) => `${text}/`,
        (text) => `/${text}`,
        (text) => text.toUpperCase(),
        (text) => `http://127.0.0.1${text}`,
        (text) => text.replace('/', '/./'),
        (text) => text.replaceAll('e', '%65'),
        (text) => text.slice(1),
      ),
    },
  )
  return fc
    .tuple(fc.tuple(...pieces), changed, query)
    .map(([parts, change, rest]) => change(parts.join('/') || '/') + rest)
}

/** A host and JSON from our own pages, with a few lines more, or in the place of those of the same name. */
function headers(): fc.Arbitrary<string[]> {
  const usual = ['host: 127.0.0.1', 'content-type: application/json', 'sec-fetch-site: same-origin']
  const nameOf = (line: string) => line.slice(0, line.indexOf(':'))
  return fc
    .uniqueArray(fc.constantFrom(...HEADERS), { maxLength: 2, selector: nameOf })
    .map((odd) => [...usual.filter((line) => !odd.some((other) => nameOf(other) === nameOf(line))), ...odd])
}
