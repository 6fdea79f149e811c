import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { AccessTokens } from '../../../src/providers/credentials/access-tokens.ts'
import { aws } from '../../../src/providers/credentials/aws.ts'
import { openEventStream } from '../../../src/providers/credentials/aws-event-stream.ts'
import { signatureProblem } from '../../../tools/simulated-providers/clouds/aws-signature.ts'
import {
  framed,
  framedEvent,
  framedException,
} from '../../../tools/simulated-providers/clouds/event-stream.ts'

/**
 * Signatures of botocore 1.44.8, by `SigV4Auth(Credentials(ID, SECRET, token), 'bedrock', 'us-east-1').add_auth` on an
 * `AWSRequest('POST', url, data=body, headers=HEADERS)`, with `botocore.auth.get_current_datetime` at AT.
 */
interface Vector {
  what: string
  url: string
  body: string
  sessionToken: string | null
  headers: { authorization: string; 'x-amz-date': string }
}
const vectors = JSON.parse(
  readFileSync(new URL('../../fixtures/aws-signatures/vectors.json', import.meta.url), 'utf8'),
) as Vector[]
const ID = 'AKIASIMULATED0000001'
const SECRET = 'simulated/secret+of/an/access/key0000000'
const AT = Date.UTC(2026, 0, 31, 23, 59, 59)
const HEADERS = {
  'content-type': 'application/json',
  accept: 'text/event-stream, application/json',
  'accept-encoding': 'identity',
  'x-spaced': '  two   words ',
}

const sign = async ({ url, body, sessionToken }: Vector, secret = `${ID}:${SECRET}`) => {
  const { headers } = await aws({
    request: { url, body, headers: Object.entries(HEADERS).flat() },
    secret: sessionToken === null ? secret : `${secret}:${sessionToken}`,
    credentials: { kind: 'aws', region: 'us-east-1' },
    tokens: new AccessTokens(() => AT),
    environment: {},
    now: () => AT,
  })
  return Object.fromEntries(
    Array.from({ length: headers.length / 2 }, (_, at) => headers.slice(2 * at, 2 * at + 2)),
  ) as Record<string, string>
}

/** What the provider receives. */
const received = ({ url, body, sessionToken, headers }: Vector) => {
  const { pathname, search, host } = new URL(url)
  return {
    ...{ method: 'POST', target: pathname + search, body: Buffer.from(body) },
    headers: {
      ...HEADERS,
      ...headers,
      host,
      ...(sessionToken !== null && { 'x-amz-security-token': sessionToken }),
    },
  }
}
const secretOf = (id: string) => (id === ID ? SECRET : null)

describe('signatures of AWS', () => {
  test.each(vectors)('are those of botocore: $what', async (vector) => {
    expect(await sign(vector)).toMatchObject(vector.headers)
  })

  test.each(vectors)('of botocore are taken by the simulated cloud: $what', (vector) => {
    expect(signatureProblem(received(vector), secretOf, AT)).toBeNull()
  })

  test('of another body, path, header, session or time are refused by the simulated cloud', () => {
    const vector = vectors.find(({ sessionToken }) => sessionToken !== null)!
    const request = received(vector)
    const { 'x-amz-security-token': _, ...withoutToken } = request.headers
    const problems = [
      signatureProblem({ ...request, body: Buffer.from('{ }') }, secretOf, AT),
      signatureProblem({ ...request, target: `${request.target}x` }, secretOf, AT),
      signatureProblem({ ...request, headers: { ...request.headers, accept: '*/*' } }, secretOf, AT),
      signatureProblem({ ...request, headers: withoutToken }, secretOf, AT),
      signatureProblem({ ...request, headers: { ...request.headers, 'x-amz-more': '1' } }, secretOf, AT),
      signatureProblem(request, secretOf, AT + 3_600_000),
      signatureProblem(request, () => null, AT),
    ]
    expect(problems.every((problem) => problem !== null)).toBe(true)
  })

  test('are not made with a Bedrock API key, which is a bearer token', async () => {
    const headers = await sign(vectors[0]!, 'bedrock-api-key-abc')
    expect(headers).toEqual({ ...HEADERS, authorization: 'Bearer bedrock-api-key-abc' })
  })
})

describe('streams of AWS', () => {
  const read = (bytes: Buffer, pieceBytes = bytes.length) => {
    const events: string[] = []
    const decoder = openEventStream((data) => events.push(data), 10_000)
    let fits = true
    for (let at = 0; at < bytes.length && fits; at += pieceBytes)
      fits = decoder.push(bytes.subarray(at, at + pieceBytes))
    decoder.end()
    return { events, fits }
  }
  const bytesOf = (...messages: string[]) => Buffer.from(messages.join(''), 'latin1')
  const STREAM = bytesOf(
    framedEvent('messageStart', { role: 'assistant' }),
    framedEvent('chunk', { bytes: Buffer.from('{"type":"ping","text":"é"}').toString('base64') }),
    framedEvent('contentBlockDelta', { delta: { text: '模型 🚂' } }),
    framedException('throttlingException', 'Too many requests.'),
  )
  const EVENTS = [
    '{"messageStart":{"role":"assistant"}}',
    '{"type":"ping","text":"é"}',
    '{"contentBlockDelta":{"delta":{"text":"模型 🚂"}}}',
    '{"type":"error","error":{"type":"throttlingException","message":"Too many requests."}}',
  ]

  test.each([1, 3, 7, 64, STREAM.length])('are read in pieces of %i bytes', (pieceBytes) => {
    expect(read(STREAM, pieceBytes)).toEqual({ events: EVENTS, fits: true })
  })

  test('end before a message whose bytes were changed, wherever that was', () => {
    const [first, second] = [framedEvent('messageStart', {}), framedEvent('messageStop', { stopReason: 'x' })]
    for (let at = first.length + 4; at < first.length + second.length; at++) {
      const bytes = bytesOf(first, second)
      bytes[at]! ^= 1
      expect(read(bytes)).toEqual({ events: ['{"messageStart":{}}'], fits: false })
    }
  })

  test('end at a message that is too large, before it has come', () => {
    expect(read(bytesOf(framedEvent('a', 'x'.repeat(20_000))).subarray(0, 100)).fits).toBe(false)
  })

  test('say nothing of a message that is cut off', () => {
    expect(read(STREAM.subarray(0, STREAM.length - 1)).events).toEqual(EVENTS.slice(0, 3))
  })

  test('have errors that are no exceptions', () => {
    const message = framed({ ':message-type': 'error', ':error-code': 'Broken', ':error-message': 'Why' }, '')
    expect(read(bytesOf(message)).events).toEqual([
      '{"type":"error","error":{"type":"Broken","message":"Why"}}',
    ])
  })
})
