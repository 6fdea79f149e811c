import { localUrl } from '../kernel/service-addresses.ts'

/** An identity provider for sign-in: OpenID Connect, or GitHub, which has OAuth 2.0 and an API instead. */
export type SignInProvider = {
  id: 'github' | 'google' | 'oidc'
  /** Display name: "Sign in with …". */
  name: string
  clientId: string
  clientSecret: string
  /** The redirect URI of the flow. */
  redirectUri: string
} & ({ kind: 'openid'; issuer: string } | { kind: 'github'; url: string; apiUrl: string })

type Environment = Record<string, string | undefined>

const GOOGLE = 'https://accounts.google.com'

/** Reads the providers that are configured. Adds invalid values to `problems`, without repeating secrets. */
export function readSignInProviders(environment: Environment, problems: string[]): SignInProvider[] {
  const { client, address } = providerReader(environment, problems)
  const [github, google, oidc] = [
    client('github', 'GITHUB'),
    client('google', 'GOOGLE'),
    client('oidc', 'OIDC'),
  ]
  if ((oidc === null) !== !environment.OIDC_ISSUER)
    problems.push('OIDC_ISSUER goes with OIDC_CLIENT_ID and OIDC_CLIENT_SECRET')
  return [
    ...(github
      ? [
          {
            ...github,
            kind: 'github' as const,
            name: 'GitHub',
            url: address('GITHUB_URL', 'https://github.com'),
            apiUrl: address('GITHUB_API_URL', 'https://api.github.com'),
          },
        ]
      : []),
    ...(google ? [{ ...google, kind: 'openid' as const, name: 'Google', issuer: GOOGLE }] : []),
    ...(oidc && environment.OIDC_ISSUER
      ? [
          {
            ...oidc,
            kind: 'openid' as const,
            name: environment.OIDC_NAME || 'single sign-on',
            issuer: address('OIDC_ISSUER', ''),
          },
        ]
      : []),
  ]
}

/** The single sign-on of operators; null: they sign in only with admin keys. */
export type OperatorProvider = SignInProvider & { kind: 'openid' }

export function readOperatorProvider(environment: Environment, problems: string[]): OperatorProvider | null {
  const { client, address } = providerReader(environment, problems)
  const found = client('oidc', 'OPERATOR_OIDC', '/admin/api/sso/callback')
  if ((found === null) !== !environment.OPERATOR_OIDC_ISSUER)
    problems.push('OPERATOR_OIDC_ISSUER goes with OPERATOR_OIDC_CLIENT_ID and OPERATOR_OIDC_CLIENT_SECRET')
  if (found === null || !environment.OPERATOR_OIDC_ISSUER) return null
  const name = environment.OPERATOR_OIDC_NAME || 'single sign-on'
  return { ...found, kind: 'openid', name, issuer: address('OPERATOR_OIDC_ISSUER', '') }
}

/** Reads the configuration of a provider. */
function providerReader(environment: Environment, problems: string[]) {
  const site = (environment.PUBLIC_URL || localUrl(environment)).replace(/\/+$/, '')
  return {
    client(id: SignInProvider['id'], prefix: string, path = `/console/api/oauth/${id}/callback`) {
      const clientId = environment[`${prefix}_CLIENT_ID`] ?? ''
      const clientSecret = environment[`${prefix}_CLIENT_SECRET`] ?? ''
      if (clientId === '' && clientSecret === '') return null
      if (clientId === '' || clientSecret === '')
        problems.push(`${prefix}_CLIENT_ID and ${prefix}_CLIENT_SECRET go together`)
      return { id, clientId, clientSecret, redirectUri: site + path }
    },
    address(name: string, otherwise: string): string {
      const text = (environment[name] || otherwise).replace(/\/+$/, '')
      if (!isSafe(text)) problems.push(`${name} must be an https address`)
      return text
    },
  }
}

/** Whether a URL uses https or is on this machine. */
function isSafe(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return (
    protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname))
  )
}
