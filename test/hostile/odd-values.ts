const words = (text: string): string[] => text.trim().split(/\s+/)
const lines = (text: string): string[] =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trimStart())

/** Not CONNECT, which asks for a tunnel: there is no HTTP answer to the refusal of one. */
export const ODD_METHODS = words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE QUERY SEARCH get XYZ')

/** Pieces of paths and queries that servers have stumbled over. */
export const ODD_PIECES = [
  ...words('%00 a%00b % %zz %E0%A4%A %ff %2e%2e .. ..%2f..%2fetc . %5c %0d%0aa:%20b %F0%9F%8E%89 %ED%A0%80'),
  ...words(
    "__proto__ constructor [object%20Object] '%20OR%201=1-- $ne + ;a=b # ? && // * -1 0 1e309 NaN null",
  ),
  ...words('9007199254740993 true 2026-02-30 0000-01-01 9999-12-31T23:59:60Z 275760-09-13'),
  ...['', ' ', '\t', '\u00e9', 'x'.repeat(513), 'x'.repeat(5_000), '%41'.repeat(600)],
]

export const QUERY_NAMES = words(
  `limit cursor from to group_by format status model key key_id search state next account request offer
   min_duration_ms minutes step provider target id __proto__`,
)

/** What parameters take, each another. */
export const QUERY_VALUES = words('1 50 60 2026-11-01 2026-11-22T00:00:00Z day csv json all model key')

/** Header lines, in their place or not, well formed or not. */
export const HEADERS = [
  ...lines(`
    content-type: application/json
    content-type: application/json; charset=utf-8
    content-type: application/json; charset="
    content-type: text/plain
    content-type: application/x-www-form-urlencoded
    content-type: multipart/form-data; boundary=a
    content-type: /
    content-encoding: gzip
    transfer-encoding: identity
    accept: text/html
    accept: text/event-stream
    accept: text/csv
    accept-encoding: br
    accept-encoding: *;q=x
    host: a b
    host: [::1
    host: evil.example
    origin: null
    origin: http://evil.example
    origin: :
    sec-fetch-site: cross-site
    sec-fetch-mode: navigate
    x-forwarded-for: 1, 2
    x-forwarded-for: ,
    forwarded: for=
    x-request-id: mine
    idempotency-key: k
    if-none-match: *
    if-none-match: "
    range: bytes=9-1
    expect: 100-continue
    expect: a miracle
    upgrade: websocket
    cookie: =; ;;
    cookie: shuntyard_session=%00
    x-http-method-override: DELETE
    traceparent: 00-0-0-0
    stripe-signature: t=1,v1=a
    te: trailers
  `),
  'host: ',
  'idempotency-key: ',
  'last-event-id: \u00ff',
  'traceparent: \u0001',
  'x-request-id: {"a":\u00e9}',
  `x-request-id: ${'r'.repeat(200)}`,
  `idempotency-key: ${'k'.repeat(300)}`,
]
