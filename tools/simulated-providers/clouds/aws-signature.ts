import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** A request as it arrived, whose signature is to be checked. */
export interface SignedRequest {
  method: string
  /** Path and query, as they were sent. */
  target: string
  /** Names in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/
const SKEW_MS = 5 * 60_000

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()

/**
 * Why a request is not signed by an access key; null if it is. Written from the steps of "Create a signed AWS API request"
 * in the AWS IAM user guide, without the code that signs.
 * @param secretOf the secret of an access key, null for one that does not exist
 * @param now Unix milliseconds
 */
export function signatureProblem(
  { method, target, headers, body }: SignedRequest,
  secretOf: (accessKeyId: string) => string | null,
  now: number,
): string | null {
  const [, accessKeyId = '', date = '', region = '', service = '', names = '', signature = ''] =
    AUTHORIZATION.exec(String(headers.authorization)) ?? []
  const secret = secretOf(accessKeyId)
  if (secret === null) return 'no such access key'
  const at = String(headers['x-amz-date'])
  if (!at.startsWith(date) || Math.abs(timeOf(at) - now) > SKEW_MS) return 'signed at another time'
  const signed = names.split(';')
  const required = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))]
  if (!required.every((name) => signed.includes(name))) return 'a header is not signed'
  const [path = '', query = ''] = target.split(/\?(.*)/s)
  const canonical = [
    method,
    // The path as it is sent, encoded once more: only S3 does not.
    path.split('/').map(encoded).join('/') || '/',
    canonicalQuery(query),
    ...signed.map((name) => `${name}:${canonicalValue(headers[name])}`),
    '',
    names,
    sha256(body),
  ].join('\n')
  const scope = `${date}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n')
  const key = hmac(hmac(hmac(hmac(`AWS4${secret}`, date), region), service), 'aws4_request')
  return timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex')) ? null : 'another signature'
}

/** Everything but letters, digits, `-`, `.`, `_` and `~`. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const decoded = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))

/** Sorted by the bytes of encoded names, then values. */
function canonicalQuery(query: string): string {
  if (query === '') return ''
  const pairs = query.split('&').map((pair) => {
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    return [encoded(decoded(name)), encoded(decoded(value))] as const
  })
  return pairs
    .sort(([name, value], [other, its]) => compare(name, other) || compare(value, its))
    .map((pair) => pair.join('='))
    .join('&')
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const canonicalValue = (value: string | string[] | undefined): string =>
  [value ?? []]
    .flat()
    .map((each) => each.trim().replace(/ +/g, ' '))
    .join(',')

/** `20260131T235959Z`, in Unix milliseconds. */
const timeOf = (at: string): number =>
  Date.parse(at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
