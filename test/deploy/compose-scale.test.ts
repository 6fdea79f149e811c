import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { SETTINGS } from '../../src/config.ts'

interface Service {
  ports?: string[]
  volumes?: string[]
  environment?: Record<string, string>
  deploy?: { replicas: number }
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const scaledText = read('deploy/compose.scale.yml')
const servicesOf = (text: string): Record<string, Service> =>
  // Compose takes a list with !reset away; here it is an empty list.
  parse(text.replaceAll('!reset []', '[]'), { merge: true }).services
const base = servicesOf(read('docker-compose.yml'))
const scaled = servicesOf(scaledText)
const balancer = read('deploy/haproxy.cfg')
const byDefault = (name: string) => SETTINGS.find(({ variable }) => variable === name)!.default as number
const seconds = (name: string) => Number(new RegExp(`timeout ${name} (\\d+)s`).exec(balancer)?.[1])

test('it runs two or more of each role, and of nothing else', () => {
  const replicated = Object.entries(scaled).filter(([, { deploy }]) => deploy)
  expect(replicated.map(([name]) => name)).toEqual(['api', 'dispatch-worker', 'settlement-worker'])
  for (const [name, { deploy }] of replicated) {
    expect(base).toHaveProperty(name)
    expect(deploy!.replicas).toBeGreaterThanOrEqual(2)
  }
})

test('only the balancer is published, on the port of the API, without rights', () => {
  expect(scaledText).toMatch(/^ {2}api:\n(?: {4}.*\n)*? {4}ports: !reset \[\]$/m)
  expect(scaled.balancer).toMatchObject({
    ports: base.api!.ports,
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
  for (const volume of scaled.balancer!.volumes!) expect(volume).toMatch(/^\.\/deploy\/haproxy\.cfg:.*:ro$/)
})

test('the API believes what the balancer says of its clients', () => {
  expect(scaled.api!.environment!.TRUSTED_PROXIES).toMatch(/^\$\{TRUSTED_PROXIES:-\d/)
  expect(balancer).toMatch(/^ +option forwardfor$/m)
})

test('the balancer asks for readiness, and an instance that stops serves until it was found out', () => {
  expect(balancer).toContain('http-check send meth GET uri /readyz')
  expect(balancer).toContain('server-template api 1-20 api:8080')
  const [, port, intervalS, fall] = /check port (\d+) inter (\d+)s fall (\d+)/.exec(balancer)!.map(Number)
  expect(String(port)).toBe(base.api!.environment!.METRICS_PORT)
  const delayMs = Number(/:-(\d+)/.exec(scaled.api!.environment!.SHUTDOWN_DELAY_MS!)![1])
  expect(delayMs).toBeGreaterThanOrEqual(2 * intervalS! * fall! * 1000)
})

test('the balancer outlasts every wait of the API, and sends no call twice', () => {
  const longest = byDefault('FLEX_WAIT_MS') + byDefault('NON_STREAMING_CALL_TIMEOUT_MS')
  for (const side of ['client', 'server']) expect(seconds(side) * 1000).toBeGreaterThan(longest)
  expect(seconds('http-request') * 1000).toBeGreaterThan(byDefault('BODY_TIMEOUT_MS'))
  expect(balancer.match(/^ +retry-on .*$/gm)).toEqual(['    retry-on conn-failure'])
})
