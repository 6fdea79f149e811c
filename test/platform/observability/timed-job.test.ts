import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { alarmsOf } from '../../../src/core/alarms/alarm.ts'
import { createTimedJob } from '../../../src/platform/observability/timed-job.ts'

test('a scheduled job has its last duration as a metric, failed or not, and an alarm where it was slow', async () => {
  const lines: string[] = []
  const registry = new Registry()
  const timed = createTimedJob(registry, pino({ level: 'info' }, { write: (line) => void lines.push(line) }))
  const { signal } = new AbortController()
  const work = { name: 'retention', run: async () => undefined }

  await timed(work, 60_000)(signal)
  await timed({ ...work, name: 'audit' }, null)(signal)
  expect(lines).toEqual([])

  const failing = { ...work, shard: 2, run: () => Promise.reject(new Error('PostgreSQL is away')) }
  // Every run is longer than that.
  await expect(timed(failing, -1)(signal)).rejects.toThrow('PostgreSQL is away')
  const [line] = lines.map((text) => JSON.parse(text))
  expect(alarmsOf(line, line.msg)).toMatchObject([{ kind: 'job-slow', subject: 'retention 2' }])

  const { values } = (await registry.getSingleMetric('shuntyard_job_duration_seconds')!.get()) as {
    values: Array<{ labels: object; value: number }>
  }
  expect(values.map(({ labels }) => labels)).toEqual([
    { name: 'retention', shard: 0 },
    { name: 'audit', shard: 0 },
    { name: 'retention', shard: 2 },
  ])
})
