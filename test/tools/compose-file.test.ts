import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig, SETTINGS } from '../../src/config.ts'
import { COMPOSE_FILE, OF_THE_LAUNCHER } from '../../tools/settings-table.ts'

interface Service {
  environment?: Record<string, string>
  command?: string[]
  volumes?: string[]
  ports?: string[]
  tmpfs?: string[]
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  read_only?: boolean
  privileged?: boolean
  network_mode?: string
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const text = readFileSync(COMPOSE_FILE, 'utf8')
const { services } = parse(text, { merge: true }) as { services: Record<string, Service> }
const GATEWAY = ['migrate', 'api', 'dispatch-worker', 'settlement-worker']

/** Settings that .env does not pass on under their own names, because the other services decide about them. */
const DECIDED_BY_COMPOSE = {
  DATABASE_URL: 'leads to the service postgres, with POSTGRES_PASSWORD',
  REDIS_URL: 'leads to the service redis, with REDIS_PASSWORD',
  HOST: 'everything inside the container',
  PORT: 'the port inside the container; PORT of .env is the published one',
  METRICS_HOST: 'inside the network of the services',
  METRICS_PORT: 'where the health checks and Prometheus look',
  DATA_DIR: 'the volume that the services share',
  SIMULATED_PROVIDERS_URL: 'leads to the service simulated-providers',
}
/** Variables that are no settings: of Node, of the client of buckets, of the SDK for traces. */
const OF_LIBRARIES = /^(NODE_ENV$|AWS_|OTEL_)/

const providerKeys = ['builtin.json', 'task-models.json'].flatMap((file) =>
  Array.from(read(`src/catalog/data/${file}`).matchAll(/"api_key_env": *"(\w+)"/g), ([, name]) => name!),
)

/** The value that compose makes of one in the file. */
const interpolate = (value: string, environment: Record<string, string>) =>
  value.replace(
    /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}/g,
    (_, name, otherwise = '') => environment[name] || otherwise,
  )

describe('the settings of docker-compose.yml', () => {
  test.each(GATEWAY)(
    '%s gets every setting and every provider key of the shipped catalog from .env',
    (name) => {
      const { environment = {} } = services[name]!
      const own = new Set([...Object.keys(DECIDED_BY_COMPOSE), ...OF_THE_LAUNCHER])
      const wanted = SETTINGS.map(({ variable }) => variable).filter((variable) => !own.has(variable))
      for (const variable of [...wanted, ...providerKeys])
        expect(`${variable}: ${environment[variable]}`).toMatch(new RegExp(`\\$\\{${variable}:[-?]`))
      for (const variable of Object.keys(DECIDED_BY_COMPOSE)) expect(environment).toHaveProperty(variable)

      const known = new Set([...wanted, ...providerKeys, ...Object.keys(DECIDED_BY_COMPOSE)])
      const others = Object.keys(environment).filter((variable) => !known.has(variable))
      expect(others.filter((variable) => !OF_LIBRARIES.test(variable))).toEqual([])
    },
  )

  test('an .env with secrets alone leaves every setting at its default', () => {
    const secrets = {
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      POSTGRES_PASSWORD: 'aa11',
      REDIS_PASSWORD: 'bb22',
    }
    const environment = Object.fromEntries(
      Object.entries(services.api!.environment!).map(([name, value]) => [name, interpolate(value, secrets)]),
    )
    const decided = Object.keys(DECIDED_BY_COMPOSE).map((name) => [name, environment[name]])
    expect(readConfig(environment)).toEqual(
      readConfig({ ...Object.fromEntries(decided), MASTER_KEY: secrets.MASTER_KEY }),
    )
    expect(readConfig(environment).redisUrl).toBe('redis://:bb22@redis:6379')
  })

  test('the command at its head creates every secret without which it does not start', () => {
    const required = Array.from(text.matchAll(/\$\{(\w+):\?/g), ([, name]) => name!)
    expect(new Set(required)).toEqual(
      new Set(['MASTER_KEY', 'POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'GRAFANA_PASSWORD']),
    )
    const [command = ''] = /printf [^>]*> \.env/.exec(text) ?? []
    for (const name of required) expect(command).toContain(`${name}=%s\\n`)
  })
})

describe('the services of docker-compose.yml', () => {
  test.each(Object.entries(services))('%s has no capabilities and writes to volumes only', (_, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      tmpfs: expect.arrayContaining(['/tmp']),
    })
    for (const widened of ['cap_add', 'privileged', 'network_mode', 'pid'])
      expect(service).not.toHaveProperty(widened)
    for (const volume of service.volumes ?? [])
      expect(volume).toMatch(/^[a-z-]+:\/|^\.\/docs\/[^:]+:[^:]+:ro$/)
  })

  test('only the API is published beyond loopback', () => {
    const published = Object.entries(services).filter(([, { ports = [] }]) =>
      ports.some((port) => !port.startsWith('127.0.0.1:')),
    )
    expect(published.map(([name]) => name)).toEqual(['api'])
  })

  test('Redis and Grafana ask for passwords of .env', () => {
    const { command = [], environment } = services.redis!
    expect(command[command.indexOf('--requirepass') + 1]).toMatch(/^\$\{REDIS_PASSWORD:\?/)
    expect(environment).toEqual({ REDISCLI_AUTH: expect.stringMatching(/^\$\{REDIS_PASSWORD:\?/) })
    expect(services.grafana!.environment!.GF_SECURITY_ADMIN_PASSWORD).toMatch(/^\$\{GRAFANA_PASSWORD:\?/)
  })

  test('the simulated providers get no secret and no file of the gateway', () => {
    const { environment = {}, volumes } = services['simulated-providers']!
    expect(Object.keys(environment)).toEqual(['SIMULATED_PROVIDERS_HOST', 'SIMULATED_PROVIDERS_PORT'])
    expect(volumes).toEqual([])
  })
})
