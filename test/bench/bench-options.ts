import { parseArgs } from 'node:util'

/** A gateway of somebody else that already runs. */
export interface Peer {
  name: string
  /** The address of its chat completions. */
  url: string
  headers: Record<string, string>
  /** Its process, whose descendants belong to it; null where unknown. */
  pid: number | null
}

export interface BenchOptions {
  peers: Peer[]
  /** Another checkout of this project; null: none. */
  against: string | null
  /** This checkout once more, with API and workers in one process. */
  isAllInOne: boolean
  /** Where the simulated provider listens; null: anywhere. */
  providerPort: number | null
  quick: boolean
  /** The tables of scaling instead of the measures. */
  scale: boolean
  turns: number
  /** What the turns may take together, in ms. */
  timeLimitMs: number
  /** Names of the measures to take; null: all. */
  only: string[] | null
  /** Where the report is written as JSON; null: nowhere. */
  jsonFile: string | null
}

/** What was asked for cannot be done; the message says why. */
export class UsageError extends Error {}

const PEER_PROVIDER_PORT = 9_010
const MAX_PEERS = 3
const MAX_TURNS = 20
const USUAL_TURNS = 3
/** With start, warm-up and the end, a run of the usual turns takes less than ten minutes. */
const TIME_LIMIT_MS = 8 * 60_000
const RESERVED_NAMES = ['direct', 'relay', 'shuntyard', 'all in one', 'against']

export const USAGE = `npm run bench -- [options]
  --quick                   one short turn instead of three
  --scale                   the tables of scaling instead, about ten minutes: workers, instances, churn, restart,
                            surge, open, flood; --only takes some of them, --quick shorter ones
  --turns N                 N turns (at most ${MAX_TURNS}), however long they take
  --only NAME[,NAME]        only some measures: calls, steady, streams, tokens, fairness, stalls, redis,
                            idle, propagation, bodies (only where it is named)
  --against DIR             beside another checkout of this project, its packages installed
  --all-in-one              beside itself with API and workers in one process
  --peer NAME=URL           beside a gateway whose chat completions are at URL, on this machine; repeatable.
                            It reaches the simulated provider at http://127.0.0.1:${PEER_PROVIDER_PORT}/alpha/v1
  --peer-header K=V         a header for the --peer before it; repeatable
  --peer-pid PID            the process of the --peer before it, for its processor time and memory
  --provider-port PORT      where the simulated provider listens (${PEER_PROVIDER_PORT} with peers, else any)
  --json FILE               also writes the report as data`

const OPTIONS = {
  quick: { type: 'boolean', default: false },
  scale: { type: 'boolean', default: false },
  turns: { type: 'string' },
  only: { type: 'string' },
  against: { type: 'string' },
  'all-in-one': { type: 'boolean', default: false },
  peer: { type: 'string', multiple: true },
  'peer-header': { type: 'string', multiple: true },
  'peer-pid': { type: 'string', multiple: true },
  'provider-port': { type: 'string' },
  json: { type: 'string' },
} as const

/** Reads the command line. Throws UsageError. */
export function readBenchOptions(args: string[]): BenchOptions {
  const { values, tokens } = parse(args)
  const peers: Peer[] = []
  for (const token of tokens) {
    if (token.kind !== 'option' || !token.name.startsWith('peer')) continue
    if (token.name === 'peer') peers.push(readPeer(token.value ?? ''))
    else if (peers.length === 0) throw new UsageError(`--${token.name} belongs after the --peer it is for`)
    else if (token.name === 'peer-pid') peers.at(-1)!.pid = readNumber('--peer-pid', token.value, 2 ** 22)
    else Object.assign(peers.at(-1)!.headers, readHeader(token.value ?? ''))
  }
  const names = [...RESERVED_NAMES, ...peers.map(({ name }) => name)]
  if (new Set(names).size < names.length)
    throw new UsageError(`peers need names of their own, other than ${RESERVED_NAMES.join(', ')}`)
  if (peers.length > MAX_PEERS) throw new UsageError(`at most ${MAX_PEERS} peers`)
  const numberOr = <T>(name: 'turns' | 'provider-port', otherwise: T, max: number) =>
    values[name] === undefined ? otherwise : readNumber(`--${name}`, values[name], max)
  return {
    peers,
    against: values.against ?? null,
    isAllInOne: values['all-in-one'],
    providerPort: numberOr('provider-port', peers.length > 0 ? PEER_PROVIDER_PORT : null, 65_535),
    quick: values.quick,
    scale: values.scale,
    turns: numberOr('turns', values.quick ? 1 : USUAL_TURNS, MAX_TURNS),
    timeLimitMs: values.turns === undefined ? TIME_LIMIT_MS : Number.POSITIVE_INFINITY,
    only: values.only?.split(',') ?? null,
    jsonFile: values.json ?? null,
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, tokens: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function readPeer(text: string): Peer {
  const [name, address] = splitAtEquals(text)
  const url = URL.parse(address)
  if (url?.protocol !== 'http:' || !/^(?:localhost|127(?:\.\d+){3})$/.test(url.hostname))
    throw new UsageError(`--peer is NAME=http://127.0.0.1:PORT/…, on this machine; not ${text}`)
  if (!url.pathname.endsWith('/chat/completions'))
    url.pathname = `${url.pathname.replace(/\/$/, '')}/chat/completions`
  return { name, url: url.href, headers: {}, pid: null }
}

function readHeader(text: string): Record<string, string> {
  const [name, value] = splitAtEquals(text)
  if (!/^[\w-]+$/.test(name) || /[\r\n]/.test(value))
    throw new UsageError(`--peer-header is K=V; not ${text}`)
  return { [name.toLowerCase()]: value }
}

function splitAtEquals(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`NAME=VALUE is expected; not ${text}`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function readNumber(what: string, text: string | undefined, max: number): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1 || number > max)
    throw new UsageError(`${what} is a number from 1 to ${max}; not ${text}`)
  return number
}
