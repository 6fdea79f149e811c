import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { DAY_MS } from '../../core/kernel/time.ts'
import { type Check, findings, ok, REQUEST_WITHIN_MS, reasonOf, warning, wrong } from './check.ts'

const RENEW_WITHIN_DAYS = 14
/** Networks at least as large as these hold clients, not only proxies. */
const PREFIX_MIN = { 4: 8, 6: 16 } as const

/** How clients reach the gateway. */
export const NETWORK_CHECKS: Check[] = [
  {
    name: 'public address',
    async run({ config: { publicUrl } }) {
      if (publicUrl === null) return [ok('PUBLIC_URL is not set: for a gateway on trial')]
      try {
        const answer = await fetch(`${publicUrl.replace(/\/+$/, '')}/healthz`, {
          signal: AbortSignal.timeout(REQUEST_WITHIN_MS),
        })
        if ((await answer.text()) === '{"status":"ok"}') return [ok(`${publicUrl} leads to a gateway`)]
        return [
          wrong(`${publicUrl} leads to something else: status ${answer.status}`, COST, 'correct PUBLIC_URL'),
        ]
      } catch (error) {
        return [
          warning(
            `${publicUrl} cannot be reached from this host: ${reasonOf(error)}`,
            COST,
            `curl -v ${publicUrl}/healthz from another network`,
          ),
        ]
      }
    },
  },
  {
    name: 'certificate',
    async run({ config: { publicUrl } }) {
      const url = publicUrl === null ? null : new URL(publicUrl)
      if (url === null) return [ok('none is needed without PUBLIC_URL')]
      if (url.protocol !== 'https:')
        return findings(
          [
            !isLocal(url.hostname) &&
              warning(
                `${publicUrl} has no TLS`,
                'keys and prompts can be read on the way, and passkeys do not work',
                'put a proxy with a certificate in front, such as caddy reverse-proxy',
              ),
          ],
          'none is needed at a local address',
        )
      try {
        return [certificateFinding(url.hostname, await expiryOf(url))]
      } catch (error) {
        return [
          warning(
            `the certificate of ${url.hostname} was not read: ${reasonOf(error)}`,
            'it is not known when it expires',
            `openssl s_client -connect ${url.host}`,
          ),
        ]
      }
    },
  },
  {
    name: 'proxies',
    async run({ config: { publicUrl, trustedProxies } }) {
      return findings(
        [
          ...trustedProxies.map((proxy) => {
            const [address = '', prefix] = proxy.split('/')
            const family = isIP(address) as 0 | 4 | 6
            if (family === 0)
              return warning(
                `TRUSTED_PROXIES names ${proxy}`,
                'only addresses and networks are compared',
                'write it as 10.0.0.0/8',
              )
            return (
              prefix !== undefined &&
              Number(prefix) < PREFIX_MIN[family] &&
              wrong(
                `TRUSTED_PROXIES has the network ${proxy}`,
                'clients in it choose the address that limits count',
                'name the proxies alone',
              )
            )
          }),
          publicUrl?.startsWith('https:') === true &&
            trustedProxies.length === 0 &&
            warning(
              'PUBLIC_URL is https, which a proxy must end, and TRUSTED_PROXIES is empty',
              'all clients share the limits of one address',
              'TRUSTED_PROXIES=ADDRESS_OF_THE_PROXY',
            ),
        ],
        trustedProxies.length === 0 ? 'none is trusted' : `trusted: ${trustedProxies.join(', ')}`,
      )
    },
  },
]

const COST = 'links in mail, sign-in with other services and payment webhooks do not arrive'

const isLocal = (hostname: string): boolean => /^(localhost|127\.|\[::1\])/.test(hostname)

function certificateFinding(hostname: string, expiresAt: number) {
  const days = Math.floor((expiresAt - Date.now()) / DAY_MS)
  if (days < 0)
    return wrong(`the certificate of ${hostname} has expired`, 'no client connects', 'certbot renew')
  return days < RENEW_WITHIN_DAYS
    ? warning(
        `the certificate of ${hostname} expires in ${days} days`,
        'then no client connects',
        'certbot renew',
      )
    : ok(`the certificate of ${hostname} is valid for ${days} days`)
}

/** When the certificate of an address expires, unix ms. Also of one that is not trusted, or expired already. */
function expiryOf({ hostname, port }: URL): Promise<number> {
  return new Promise((settle, fail) => {
    const socket = connect({
      host: hostname,
      port: Number(port || 443),
      ...(isIP(hostname) === 0 && { servername: hostname }),
      rejectUnauthorized: false,
    })
    socket.setTimeout(REQUEST_WITHIN_MS, () => socket.destroy(new Error('no TLS handshake in time')))
    socket.once('secureConnect', () => {
      settle(Date.parse(socket.getPeerCertificate().valid_to))
      socket.end()
    })
    socket.once('error', fail)
  })
}
