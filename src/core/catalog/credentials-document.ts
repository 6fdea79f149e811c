import { type Static, Type } from 'typebox'
import { CREDENTIALS_KINDS, type ProviderCredentials } from './provider-credentials.ts'

/** `credentials` of a provider in a catalog document. */
export const CREDENTIALS = Type.Object(
  {
    kind: Type.Enum([...CREDENTIALS_KINDS], {
      description:
        '`aws`: `ID:SECRET` or `ID:SECRET:SESSION_TOKEN`, which sign each request, or a Bedrock API key. `google`: the file of a service account, as JSON or in base64, or an API key. `azure`: a key, or `TENANT:CLIENT:SECRET` of an application. Without `api_key_env`: the identity of the machine.',
    }),
    region: Type.Optional(
      Type.String({
        pattern: '^[a-z]{2,}(-[a-z0-9]+)+$',
        description: 'Of `aws`. Default: the region in `base_url`.',
      }),
    ),
    token_url: Type.Optional(
      Type.String({
        pattern: '^https?://[^\\s?#]+$',
        description:
          "Where keys are exchanged for tokens; `{tenant}` is replaced by the key's. Default: the address of the cloud.",
      }),
    ),
    scope: Type.Optional(
      Type.String({
        pattern: '^[\\x21-\\x7e]{1,200}$',
        description:
          'Of tokens. Default: `https://cognitiveservices.azure.com/.default` of `azure`, all of `google`.',
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      'How the key is used, where it is not sent as it is. Default: `aws` for the wire `bedrock-converse`; none for others, whose key is sent.',
  },
)
export type DocumentCredentials = Static<typeof CREDENTIALS>

/** A provider as a document states it. */
interface DescribedProvider {
  base_url: string
  api_key_env?: string | null
  wire?: string
  credentials?: DocumentCredentials
}

const REGION_IN_HOST =
  /(?:^|\.)bedrock(?:-[a-z]+)*\.([a-z]{2,}(?:-[a-z0-9]+)+)\.(?:api\.aws|(?:vpce\.)?amazonaws\.com)/

const regionIn = (baseUrl: string): string | undefined => REGION_IN_HOST.exec(new URL(baseUrl).hostname)?.[1]

/** What a provider of a document is called with; undefined: its key as it is. */
export function credentialsOf(provider: DescribedProvider): ProviderCredentials | undefined {
  const ofWire: DocumentCredentials | undefined =
    provider.wire === 'bedrock-converse' ? { kind: 'aws' } : undefined
  const { credentials = ofWire } = provider
  if (!credentials) return undefined
  const { kind, token_url: tokenUrl, scope } = credentials
  const region = kind === 'aws' ? (credentials.region ?? regionIn(provider.base_url)) : undefined
  return {
    kind,
    ...(region !== undefined && { region }),
    ...(tokenUrl !== undefined && { tokenUrl }),
    ...(scope !== undefined && { scope }),
  }
}

/** What is wrong with the credentials of a provider of a document whose URL is one. */
export function credentialsProblems(provider: DescribedProvider): string[] {
  const credentials = credentialsOf(provider)
  if (!credentials) return []
  const { kind, region } = credentials
  const given = Object.keys(provider.credentials ?? {})
  return [
    ...(kind === 'aws' && region === undefined
      ? ['credentials.region: required, as base_url names none']
      : []),
    ...given
      .filter((field) => (field === 'region' ? kind !== 'aws' : field !== 'kind' && kind === 'aws'))
      .map((field) => `credentials.${field}: has no meaning for ${kind}`),
  ]
}
