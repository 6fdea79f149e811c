import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig, SETTINGS } from '../../src/config.ts'
import { SECRET } from '../../tools/settings-table.ts'
import { type Helm, type Manifest, openHelm } from './helm.ts'
import { problemsOf } from './kubernetes-schemas.ts'
import { endsWithinMs, launchedWith, ROLES } from './role-commands.ts'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')
const REQUIRED = {
  image: { repository: 'registry.example/shuntyard' },
  existingSecret: 'shuntyard',
  config: { STORED_FILES_S3_BUCKET: 'files' },
}
const EVERYTHING = {
  image: { ...REQUIRED.image, digest: `sha256:${'0'.repeat(64)}`, pullSecrets: [{ name: 'registry' }] },
  existingSecret: 'shuntyard',
  extraSecrets: ['provider-keys'],
  config: { BODY_LIMIT_BYTES: 268_435_456, SIGN_UP_CLOSED: true, SHUTDOWN_GRACE_MS: 120_500 },
  extraEnv: [{ name: 'AWS_REGION', value: 'eu-central-1' }],
  files: { existingClaim: 'files' },
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn' } },
  service: { annotations: { a: 'b' } },
  autoscaling: { prometheus: { authenticationRef: { name: 'prometheus' } } },
  monitoring: { labels: { release: 'prometheus' } },
  api: {
    nodeSelector: { a: 'b' },
    tolerations: [{ key: 'a', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
  },
  networkPolicy: {
    clients: [{ podSelector: {} }],
    postgres: { ports: [6432], to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] },
    redis: { ports: [6380], to: [{ podSelector: { matchLabels: { app: 'redis' } } }] },
    extraEgress: [{ ports: [{ port: 4318 }] }],
  },
}
const OFF = Object.fromEntries(
  ['migrate', 'autoscaling', 'monitoring', 'networkPolicy'].map((part) => [part, { enabled: false }]),
)

let helm: Helm
let manifests: Manifest[]
beforeAll(() => {
  helm = openHelm()
  manifests = helm.render(REQUIRED)
})
afterAll(() => helm.close())

const named = (kind: string, name: string, from = manifests): Manifest => {
  const found = from.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)
  if (!found) throw new Error(`no ${kind} ${name}`)
  return found
}
const podOf = (role: string, from = manifests) =>
  named('Deployment', `prod-shuntyard-${role}`, from).spec.template.spec

describe('the manifests of the Helm chart', () => {
  test.each([
    ['the required values', REQUIRED],
    ['every value', EVERYTHING],
    ['every optional part off', { ...REQUIRED, ...OFF }],
  ])(
    'with %s are as the schemas of Kubernetes, KEDA and the Prometheus operator say, and lint is silent',
    (_, values) => {
      const rendered = helm.render(values)
      expect(rendered.length).toBeGreaterThan(8)
      for (const manifest of rendered)
        expect(problemsOf(manifest), `${manifest.kind} ${manifest.metadata.name}`).toEqual([])
      expect(helm.lint(values)).toContain('0 chart(s) failed')
    },
  )

  test('a misspelt field, a wrong type and a missing field are found', () => {
    const changed = (change: (pod: Manifest) => void) => {
      const deployment = structuredClone(named('Deployment', 'prod-shuntyard-api'))
      change(deployment)
      return problemsOf(deployment)
    }
    expect(changed((it) => (it.spec.template.spec.containers[0].readinesProbe = {}))).toEqual([
      'unknown field /spec/template/spec/containers/0/readinesProbe',
    ])
    expect(changed((it) => (it.spec.minReadySeconds = '1')).join()).toMatch(/minReadySeconds/)
    expect(changed((it) => delete it.spec.selector).join()).toMatch(/selector/)
  })

  test('every pod runs without root, capabilities and token, and writes to volumes only', () => {
    const pods = [
      ...ROLES.map((role) => podOf(role)),
      named('Job', 'prod-shuntyard-migrate').spec.template.spec,
    ]
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const container of pod.containers)
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
    }
  })

  test('every process is started as the launcher starts it', () => {
    for (const role of ROLES) {
      const [node, ...args] = podOf(role).containers[0].command
      expect(node).toBe('node')
      expect(new Set(args)).toEqual(launchedWith(role))
    }
  })

  test('a pod has as long to end as its process takes at most', () => {
    const secondsOf = (role: string, from: Manifest[]) => podOf(role, from).terminationGracePeriodSeconds
    for (const role of ROLES) expect(secondsOf(role, manifests) * 1000).toBeGreaterThan(endsWithinMs(60_000))
    expect(secondsOf('api', helm.render(EVERYTHING)) * 1000).toBeGreaterThan(endsWithinMs(120_500))
  })

  test('probes ask routes of the metrics port, and only that of the API has readiness', () => {
    for (const role of ROLES) {
      const { startupProbe, livenessProbe, readinessProbe, ports } = podOf(role).containers[0]
      expect(ports).toContainEqual({ name: 'metrics', containerPort: 9464 })
      expect(startupProbe.httpGet).toEqual({ path: '/healthz', port: 'metrics' })
      expect(livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'metrics' })
      const path = role === 'api' ? '/readyz' : '/healthz'
      expect(readinessProbe.httpGet).toEqual({ path, port: 'metrics' })
    }
  })

  test('migrations run before an installation or upgrade, and know the database alone', () => {
    const job = named('Job', 'prod-shuntyard-migrate')
    expect(job.metadata.annotations!['helm.sh/hook']).toBe('pre-install,pre-upgrade')
    const [container] = job.spec.template.spec.containers
    expect(container.command).toEqual(['node', 'src/cli/migrate.ts'])
    expect(container.env.map(({ name }: { name: string }) => name)).toEqual(['DATABASE_URL'])
    expect(container).not.toHaveProperty('envFrom')
  })

  test('the versions of chart and service are those of package.json', () => {
    const { version } = JSON.parse(read('package.json'))
    expect(parse(read('deploy/helm/shuntyard/Chart.yaml'))).toMatchObject({ version, appVersion: version })
  })
})

describe('what the Helm chart takes', () => {
  test.each([
    ['an unknown setting', { config: { WORKER_CONCURENCY: 10 } }, /WORKER_CONCURENCY/],
    ['an invalid value', { config: { WORKER_CONCURRENCY: 0 } }, /WORKER_CONCURRENCY/],
    ['a secret among the settings', { config: { MASTER_KEY: 'a' } }, /MASTER_KEY/],
    ['a setting that the chart decides', { config: { METRICS_PORT: 1 } }, /METRICS_PORT/],
    ['no Secret', { existingSecret: '' }, /existingSecret/],
    ['no image', { image: { repository: '' } }, /image.repository/],
    ['no shared place of files', { config: { STORED_FILES_S3_BUCKET: '' } }, /files.existingClaim/],
  ])('it rejects %s', (_, values, message) => {
    expect(() => helm.render({ ...REQUIRED, ...values })).toThrow(message)
  })

  test('its settings reach a process as it reads them', () => {
    const rendered = helm.render(EVERYTHING)
    const { data } = named('ConfigMap', 'prod-shuntyard', rendered)
    expect(data).toMatchObject({ BODY_LIMIT_BYTES: '268435456', SIGN_UP_CLOSED: 'true' })
    const { env, envFrom } = podOf('api', rendered).containers[0]
    const plain = env.filter(({ value }: { value?: string }) => value !== undefined)
    const given = Object.fromEntries(plain.map(({ name, value }: Record<string, string>) => [name, value]))
    const secrets = { DATABASE_URL: 'postgresql://a/b', REDIS_URL: 'redis://a', MASTER_KEY: '07'.repeat(32) }
    const bodies = {
      BODY_BYTES_PER_KEY: '268435456',
      BODY_BYTES_PER_INSTANCE: '805306368',
      WORKER_BODY_BYTES: '268435456',
    }
    expect(readConfig({ ...data, ...given, ...secrets, ...bodies })).toMatchObject({
      bodyLimitBytes: 268_435_456,
      signUpClosed: true,
      shutdownGraceMs: 120_500,
      metricsPort: 9464,
      dataDir: '/data',
    })
    expect(envFrom.map((from: object) => Object.values(from)[0].name)).toEqual([
      'prod-shuntyard',
      'shuntyard',
      'provider-keys',
    ])
  })

  test('no secret has a value in its manifests', () => {
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([])
    const values = manifests.flatMap((manifest) => manifest.spec?.template?.spec?.containers?.[0].env ?? [])
    const secrets = values.filter(({ name }: { name: string }) => SECRET.test(name))
    expect(secrets.length).toBeGreaterThan(3)
    for (const { value, valueFrom } of secrets) {
      expect(value).toBeUndefined()
      expect(valueFrom.secretKeyRef.name).toBe('shuntyard')
    }
  })
})

describe('monitoring and scaling by the Helm chart', () => {
  test('alert rules and dashboard are those of docs/observability', () => {
    expect(named('PrometheusRule', 'prod-shuntyard').spec).toEqual(
      parse(read('docs/observability/alerts.yml')),
    )
    const { data } = named('ConfigMap', 'prod-shuntyard-dashboard')
    const dashboard = JSON.parse(read('docs/observability/grafana/shuntyard.json'))
    expect(JSON.parse(data['shuntyard.json'])).toEqual(dashboard)
  })

  test('Prometheus finds every process under the job that the rules ask for', () => {
    const { spec } = named('ServiceMonitor', 'prod-shuntyard')
    const service = named('Service', 'prod-shuntyard-metrics')
    expect(service.metadata.labels).toMatchObject(spec.selector.matchLabels)
    expect(service.spec.ports[0].name).toBe(spec.endpoints[0].port)
    expect(spec.endpoints[0].relabelings).toEqual([{ targetLabel: 'job', replacement: 'shuntyard' }])
    for (const role of ROLES)
      expect(named('Deployment', `prod-shuntyard-${role}`).spec.template.metadata.labels).toMatchObject(
        service.spec.selector,
      )
  })

  const triggersOf = (role: string, from = manifests) =>
    named('ScaledObject', `prod-shuntyard-${role}`, from).spec.triggers

  test('API instances are scaled by calls in flight, workers by used slots and queue wait', () => {
    const series = 'namespace="gateway",service="prod-shuntyard-metrics"'
    expect(triggersOf('api')).toMatchObject([
      {
        metricType: 'AverageValue',
        metadata: { query: `sum(shuntyard_pending_calls{${series}})`, threshold: '500' },
      },
    ])
    const [slots, wait] = triggersOf('dispatch')
    expect(slots.metadata.query).toBe(
      ['active', 'waiting']
        .map(
          (state) =>
            `sum(max by (shard) (shuntyard_queue_jobs{${series},queue="dispatch",state="${state}"}))`,
        )
        .join(' + '),
    )
    const concurrency = SETTINGS.find(({ variable }) => variable === 'WORKER_CONCURRENCY')!.default as number
    expect(slots.metadata.threshold).toBe(String(concurrency * 0.7))
    expect(wait).toMatchObject({ metricType: 'Value', metadata: { threshold: '0.5' } })
    const config = { ...REQUIRED.config, WORKER_CONCURRENCY: 1000 }
    expect(triggersOf('dispatch', helm.render({ ...REQUIRED, config }))[0].metadata.threshold).toBe('700')
  })

  test('what is scaled has no fixed number of pods, and all else has two', () => {
    const replicas = (from: Manifest[]) =>
      ROLES.map((role) => named('Deployment', `prod-shuntyard-${role}`, from).spec.replicas)
    expect(replicas(manifests)).toEqual([undefined, undefined, 2])
    expect(replicas(helm.render({ ...REQUIRED, ...OFF }))).toEqual([2, 2, 2])
  })

  test('the metrics of its queries exist', () => {
    const known = ['src', 'workers']
      .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: fileURLToPath(ROOT) }))
      .map(read)
      .join()
    const queries = ['api', 'dispatch']
      .flatMap((role) => triggersOf(role))
      .map(({ metadata }) => metadata.query)
    const names = queries.join().match(/shuntyard_[a-z_]+/g)!
    for (const name of names) expect(known).toContain(`'${name.replace(/_bucket$/, '')}'`)
  })
})
