import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../tools/simulated-providers/start-simulated-providers.ts'
import { COMPLETIONS_PATH } from './bench-catalog.ts'
import { readBenchOptions, UsageError } from './bench-options.ts'
import { renderReport } from './bench-report.ts'
import { type Bench, runTurns } from './bench-run.ts'
import { type LoadRunner, startLoadRunner } from './load/load-runner.ts'
import { measureCalls } from './measures/calls.ts'
import { measureSteadyRate } from './measures/steady-rate.ts'
import { compareTurns, type Sample } from './samples.ts'
import { startRelay } from './targets/relay.ts'
import { peerTarget } from './targets/start-targets.ts'
import type { Target } from './targets/target.ts'

const PEER_DELAY_MS = 20
const END = { ledgers: [], othersShare: 0, failures: [], seconds: 1 }

let provider: SimulatedProviders
let load: LoadRunner
let relay: Target

beforeAll(async () => {
  provider = await startSimulatedProviders({ recordedRequests: 0 })
  load = startLoadRunner()
  relay = await startRelay(provider.url)
})

afterAll(async () => {
  await relay.stop()
  await load.stop()
  await provider.close()
})

const sample = (target: string, value: number, name = 'calls'): Sample => ({
  name,
  unit: '/s',
  target,
  value,
})

test('a ratio is the median of the ratios within each turn, not the ratio of the medians', () => {
  const turns = [
    [sample('ours', 100), sample('peer', 50)],
    [sample('ours', 30), sample('peer', 10)],
    [sample('ours', 20), sample('peer', 80)],
  ]
  const [row] = compareTurns(turns, 'ours')
  expect(row?.figures.ours).toEqual({ median: 30, lowest: 20, highest: 100, turns: [100, 30, 20] })
  expect(row?.figures.peer?.median).toBe(50)
  expect(row?.ratios).toEqual({ peer: { median: 2, lowest: 0.25, highest: 3, turns: [2, 3, 0.25] } })
})

test('a turn without one of the two figures, or with nothing to divide by, has no ratio', () => {
  const turns = [
    [sample('ours', 4), sample('peer', 2), sample('relay', 0)],
    [sample('ours', 5), sample('relay', -1)],
    [sample('peer', 3)],
  ]
  const [row] = compareTurns(turns, 'ours')
  expect(row?.ratios).toEqual({ peer: { median: 2, lowest: 2, highest: 2, turns: [2] } })
  expect(row?.figures.peer?.turns).toEqual([2, 3])
})

test('the table prints medians with their range and ratios beside every other target', () => {
  const turns = [
    [sample('ours', 1_000), sample('peer', 500), sample('ours', 7, 'alone')],
    [sample('ours', 3_000), sample('peer', 1_000), sample('ours', 8, 'alone')],
    [sample('ours', 2_000), sample('peer', 800), sample('ours', 9, 'alone')],
  ]
  const rows = compareTurns(turns, 'ours')
  const lines = renderReport({ ...END, subject: 'ours', targets: ['ours', 'peer'], turns: 3, rows }).split(
    '\n',
  )
  expect(lines.map((line) => line.replace(/ +/g, ' ').trimEnd()).slice(0, 7)).toEqual([
    'medians of 3 turns (lowest to highest)',
    ' ours peer',
    'calls, /s 2,000 (1,000–3,000) 800 (500–1,000)',
    'alone, /s 8 (7–9)',
    '',
    'ours ÷ peer',
    'calls 2.50 (2.00–3.00)',
  ])
})

test('a run measures the relay and a slow peer turn about with the provider', async () => {
  const peer = createServer((request, response) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    request.setEncoding('utf8').on('data', (body: string) => resolve(body))
    void promise.then(async (body) => {
      const upstream = await fetch(`${provider.url}${COMPLETIONS_PATH}`, { method: 'POST', body })
      const text = await upstream.text()
      setTimeout(
        () => response.writeHead(request.headers['x-team'] === 'a' ? 200 : 401).end(text),
        PEER_DELAY_MS,
      )
    })
  }).listen(0, '127.0.0.1')
  await once(peer, 'listening')
  try {
    const { port } = peer.address() as AddressInfo
    const [described] = readBenchOptions([
      ...['--peer', `slow=http://127.0.0.1:${port}/v1`, '--peer-header', 'X-Team=a'],
      ...['--peer-pid', String(process.pid)],
    ]).peers
    const direct: Target = { ...peerTarget(described!), name: 'direct', processes: new Map() }
    direct.url = `${provider.url}${COMPLETIONS_PATH}`
    const bench: Bench = {
      targets: [direct, relay, peerTarget(described!)],
      direct,
      subject: relay,
      load,
      shared: new Map([['load generator', load.pid]]),
      // A slow peer must end some calls in a fraction of the time.
      scale: 0.1,
      log: () => undefined,
      failures: [],
    }
    const measures = new Map([
      ['calls', measureCalls],
      ['steady rate', measureSteadyRate],
    ])
    const turns = await runTurns(bench, measures, { turns: 1, endsAt: Number.POSITIVE_INFINITY })
    const rows = compareTurns(turns, 'relay')
    const row = (name: string) => rows.find((one) => one.name === name)!

    expect(bench.failures).toEqual([])
    expect(row('32 callers: p50').figures.slow!.median).toBeGreaterThanOrEqual(PEER_DELAY_MS - 1)
    expect(Object.keys(row('32 callers: p50').ratios)).toEqual(['direct', 'slow'])
    expect(Object.keys(row('512 callers: calls').figures)).toEqual(['direct', 'relay', 'slow'])
    expect(Object.keys(row('CPU a call, 128 callers').figures)).toEqual(['relay', 'slow'])
    expect(Object.keys(row('250 calls/s, added p50').figures)).toEqual(['relay', 'slow'])
    expect(row('memory at load: slow').figures.slow!.median).toBeGreaterThan(1)
    const table = renderReport({
      ...END,
      subject: 'relay',
      targets: ['direct', 'relay', 'slow'],
      turns: 1,
      rows,
    })
    expect(table).toMatch(/^32 callers: calls, \/s +[\d,]+ +[\d,]+ +[\d,]+$/m)
    expect(table).toMatch(/^relay ÷ +direct +slow$/m)
  } finally {
    peer.closeAllConnections()
    peer.close()
  }
})

test('no turn begins that would not end in time, except the first', async () => {
  const bench = { targets: [relay], log: () => undefined } as unknown as Bench
  const measures = new Map([['one', async () => [sample('relay', 1)]]])
  expect(await runTurns(bench, measures, { turns: 3, endsAt: Number.POSITIVE_INFINITY })).toHaveLength(3)
  expect(await runTurns(bench, measures, { turns: 3, endsAt: 0 })).toHaveLength(1)
})

test('the load generator ends with its callers and counts failures by status', async () => {
  const refusing = createServer((_, response) => response.writeHead(503).end('busy')).listen(0, '127.0.0.1')
  await once(refusing, 'listening')
  const { port } = refusing.address() as AddressInfo
  const result = await load.run({
    request: { url: `http://127.0.0.1:${port}/`, headers: {}, model: 'any', stream: false },
    load: { kind: 'callers', callers: 3, callsEach: 1 },
    durationMs: 60_000,
    warmUpMs: 0,
  })
  refusing.close()
  expect(result.failures).toMatchObject({ count: 3, byStatus: { 503: 3 } })
})

test.each([
  { args: ['--peer', 'far=http://example.com/v1'], reason: 'another machine' },
  { args: ['--peer', 'far=http://127.0.0.1.example.com/v1'], reason: 'a name that looks like this machine' },
  { args: ['--peer', 'relay=http://127.0.0.1:1/v1'], reason: 'a name that is taken' },
  { args: ['--peer-header', 'a=b'], reason: 'a header for no peer' },
  { args: ['--turns', '100'], reason: 'too many turns' },
  { args: ['--unknown'], reason: 'an unknown option' },
])('refuses $reason', ({ args }) => {
  expect(() => readBenchOptions(args)).toThrow(UsageError)
})
