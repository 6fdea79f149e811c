import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface Job {
  needs?: string | string[]
  permissions?: Record<string, string>
  'timeout-minutes'?: number
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[]
}

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const workflow = parse(read('.github/workflows/release.yml')) as {
  permissions: Record<string, string>
  jobs: Record<string, Job>
}
const jobs = Object.entries(workflow.jobs)

test('every job that may publish waits for the checks, the tests, the gate and the release check', () => {
  expect(workflow.permissions).toEqual({ contents: 'read' })
  const checks = workflow.jobs.check!.steps.map(({ run = '' }) => run).join('\n')
  for (const command of ['.ci/run', 'npm run gate', 'npm run release-check'])
    expect(checks).toContain(command)
  const waits = (name: string): boolean =>
    name === 'check' || [workflow.jobs[name]!.needs ?? []].flat().some((needed) => waits(needed))
  for (const [name, { permissions }] of jobs) {
    expect(waits(name), name).toBe(true)
    if (name === 'check') expect(permissions).toBeUndefined()
  }
})

test('every action is pinned to a commit, and every job ends in time', () => {
  for (const [name, job] of jobs) {
    expect(job['timeout-minutes'], name).toBeGreaterThan(0)
    for (const { uses } of job.steps) if (uses) expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
  }
})

test('the npm scripts that it runs exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const used = Array.from(
    read('.github/workflows/release.yml').matchAll(/npm run ([\w:-]+)/g),
    ([, name]) => name!,
  )
  expect(used.length).toBeGreaterThan(0)
  for (const name of used) expect(Object.keys(scripts)).toContain(name)
})

test('the image is built for two architectures, runs without root and says when it is healthy', () => {
  const build = workflow.jobs.image!.steps.find(({ uses }) => uses?.startsWith('docker/build-push-action'))!
  expect(build.with).toMatchObject({
    platforms: 'linux/amd64,linux/arm64',
    sbom: true,
    provenance: 'mode=max',
  })
  const [, image = ''] = read('Dockerfile').split(/^FROM node:24-slim$/m)
  expect(image).toMatch(/^USER node$/m)
  expect(image).toMatch(/^HEALTHCHECK .*\n?.*\/healthz/m)
})

test('the pages name the file of the version that is in the making', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  for (const page of ['README.md', 'docs/quick-start.md', 'docs/operating.md', 'docs/support.md']) {
    const files = new Set(read(page).match(/shuntyard-\d[\w.-]*\.tgz/g))
    expect([...files], page).toEqual([`shuntyard-${version}.tgz`])
  }
})
