import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import { openEventStream } from './aws-event-stream.ts'
import { machineKey } from './aws-machine.ts'
import { CredentialsFailure } from './credentials-failure.ts'
import type { SecretUse } from './secret-use.ts'

/** The name of Bedrock in signatures, at each of its hosts. */
const SERVICE = 'bedrock'
const ACCESS_KEY = /^([A-Z0-9]{16,128}):([^:]+)(?::(.+))?$/

/**
 * A signature of AWS (version 4) by an access key, the machine's own where the provider has no key; a Bedrock API key as a
 * bearer token. Streams have AWS's own framing.
 */
export const aws: SecretUse = async ({ request, secret: given, credentials, tokens, environment, now }) => {
  const { region = '' } = credentials
  const secret = given ?? (await tokens.of(`aws ${region}`, () => machineKey(environment, region)))
  const [, accessKeyId, secretAccessKey, sessionToken] = ACCESS_KEY.exec(secret) ?? []
  if (accessKeyId === undefined || secretAccessKey === undefined)
    return {
      ...request,
      headers: [...request.headers, 'authorization', `Bearer ${secret}`],
      openDecoder: openEventStream,
    }
  const { url, body } = request
  if (typeof body !== 'string' && !Buffer.isBuffer(body))
    throw new CredentialsFailure('bad-request', 'a form cannot be signed')
  const { host, protocol, pathname, searchParams } = new URL(url)
  const signer = new SignatureV4({
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    ...{ region, service: SERVICE, sha256: Sha256, applyChecksum: false },
  })
  const signed = await signer.sign(
    {
      ...{ method: 'POST', protocol, hostname: host, path: pathname },
      query: queryOf(searchParams),
      headers: { ...headersOf(request.headers), host },
      body,
    },
    { signingDate: new Date(now()) },
  )
  return { ...request, headers: Object.entries(signed.headers).flat(), openDecoder: openEventStream }
}

function headersOf(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < list.length; at += 2) headers[list[at]!.toLowerCase()] = list[at + 1]!
  return headers
}

const queryOf = (parameters: URLSearchParams): Record<string, string[]> =>
  Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name)]))

type Source = string | ArrayBuffer | ArrayBufferView

/** SHA-256, or its HMAC with a secret, as the signer asks for it. */
class Sha256 {
  readonly #hash

  constructor(secret?: Source) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret))
  }

  update(data: Source): void {
    this.#hash.update(bytesOf(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    throw new Error('a hash is used once')
  }
}

function bytesOf(source: Source): Buffer {
  if (typeof source === 'string') return Buffer.from(source)
  return ArrayBuffer.isView(source)
    ? Buffer.from(source.buffer, source.byteOffset, source.byteLength)
    : Buffer.from(source)
}
