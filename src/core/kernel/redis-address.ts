/** How to sign in to a server. */
export interface RedisSignIn {
  username?: string
  password?: string
}

export interface RedisHost {
  host: string
  port: number
}

interface Group extends RedisSignIn {
  /** Some of the servers; the others are found by asking them. */
  hosts: RedisHost[]
  tls: boolean
}

/** The address in REDIS_URL. */
export type RedisAddress =
  /** One server: `redis://`, `rediss://` or `unix://`. */
  | { kind: 'server'; url: string }
  /** A primary that Sentinels watch, by its name there. `sentinel`: how to sign in to the Sentinels. */
  | (Group & { kind: 'sentinel'; name: string; sentinel: RedisSignIn })
  | (Group & { kind: 'cluster' })
  /** Several servers without a cluster, comma-separated; shard `i` is on server `i` modulo their number. */
  | { kind: 'servers'; urls: string[] }

const GROUP_FORM = /^(redis|rediss)\+(sentinel|cluster):\/\/(?:([^@/]*)@)?([^/?#]+)\/?(?:\?(.*))?$/
const DEFAULT_PORTS = { sentinel: 26_379, cluster: 6_379 } as const
/** In a list of addresses. */
const NEXT_ADDRESS = /,(?=(?:rediss?|unix)(?:\+\w+)?:\/\/)/

const FORMS =
  'REDIS_URL must be an address such as redis://:password@host:6379, rediss://…, unix:///path, ' +
  'redis+sentinel://host:26379,host:26379/?name=…, or redis+cluster://host:6379,host:6379; ' +
  'or several redis://, rediss:// or unix:// addresses with commas between'

/** Parses REDIS_URL. Throws an Error that does not repeat it, since it contains passwords. */
export function parseRedisUrl(text: string): RedisAddress {
  if (countServers(text) > 1) return parseServers(text.split(NEXT_ADDRESS))
  if (/^unix:\/\/\/./.test(text)) return { kind: 'server', url: text }
  const [, protocol, kind, signIn = '', hosts = '', query = ''] = GROUP_FORM.exec(text) ?? []
  if (kind !== 'sentinel' && kind !== 'cluster') return parseServer(text)
  const group = {
    hosts: hosts.split(',').map((host) => parseHost(host, DEFAULT_PORTS[kind])),
    tls: protocol === 'rediss',
    ...parseSignIn(signIn),
  }
  if (kind === 'cluster') return { kind, ...group }
  const parameters = new URLSearchParams(query)
  const name = parameters.get('name')
  if (!name)
    throw new Error('REDIS_URL needs the name of the primary at its Sentinels, as in …/?name=mymaster')
  const [username, password] = [parameters.get('sentinel_user'), parameters.get('sentinel_password')]
  return { kind, ...group, name, sentinel: { ...(username && { username }), ...(password && { password }) } }
}

/** How many servers share the shards of an address: one, unless it is a list. */
export const countServers = (text: string): number => text.split(NEXT_ADDRESS).length

function parseServers(texts: string[]): RedisAddress {
  const servers = texts.map(parseRedisUrl)
  if (servers.some(({ kind }) => kind !== 'server')) throw new Error(FORMS)
  if (new Set(texts).size < texts.length) throw new Error('REDIS_URL names a server twice')
  return { kind: 'servers', urls: texts }
}

function parseServer(text: string): RedisAddress {
  const hosts = /^rediss?:\/\/(?:[^@/]*@)?([^/?#]*)/i.exec(text)?.[1] ?? ''
  if (hosts.includes(','))
    throw new Error('REDIS_URL names several servers: begin it with redis+cluster:// or redis+sentinel://')
  if (!URL.canParse(text) || hosts === '') throw new Error(FORMS)
  return { kind: 'server', url: text }
}

function parseHost(text: string, defaultPort: number): RedisHost {
  const url = URL.canParse(`redis://${text}`) ? new URL(`redis://${text}`) : null
  if (url === null || url.hostname === '') throw new Error(FORMS)
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || defaultPort) }
}

function parseSignIn(text: string): RedisSignIn {
  const [username = '', ...password] = text.split(':').map(decodeURIComponent)
  return { ...(username && { username }), ...(password.length > 0 && { password: password.join(':') }) }
}
