import { beforeAll, expect, test } from 'vitest'
import { isRunning, runOnFewProcesses, runOnOneProcess } from '../../../src/platform/redis/fleet-job.ts'
import type { Redis } from '../../../src/platform/redis/redis.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testRedis } from '../../helpers/resources.ts'

let redis: Redis
const server = testRedis()
beforeAll(() => {
  redis = server.connect()
})

test('a job runs at one process at a time, and its lock is released after each run', async () => {
  let [running, mostRunning, runs] = [0, 0, 0]
  const jobs = Array.from({ length: 3 }, () =>
    runOnOneProcess({
      redis,
      name: 'counted',
      everyMs: 1,
      async run() {
        running += 1
        mostRunning = Math.max(mostRunning, running)
        await redis.ping()
        running -= 1
        runs += 1
      },
      onFailure: (error) => expect.unreachable(String(error)),
    }),
  )
  await eventually(() => expect(runs).toBeGreaterThan(20))
  await Promise.all(jobs.map((job) => job.stop()))
  expect(mostRunning).toBe(1)
  expect(await isRunning(redis, 'counted')).toBe(false)
})

test('a job for a few processes runs at so many, and at others once some stop or lose their locks', async () => {
  const running = new Set<number>()
  let mostRunning = 0
  const jobs = Array.from({ length: 5 }, (_, process) =>
    runOnFewProcesses({
      ...{ redis, name: 'few', processes: 2, everyMs: 10, lockMs: 300 },
      async run(over) {
        running.add(process)
        mostRunning = Math.max(mostRunning, running.size)
        await new Promise((resolve) => over.addEventListener('abort', resolve))
        running.delete(process)
      },
      onFailure: (error) => expect.unreachable(String(error)),
    }),
  )
  await eventually(() => expect(running.size).toBe(2))
  const stopped = [...running][0]!
  await jobs[stopped]!.stop()
  await eventually(() => expect(running.size).toBe(2))
  expect(running.has(stopped)).toBe(false)
  expect(mostRunning).toBe(2)
  // Redis loses its data: others take the locks, and those that had them notice.
  const before = new Set(running)
  await redis.flushall()
  await eventually(() => expect([...running].some((process) => !before.has(process))).toBe(true))
  await eventually(() => expect(running.size).toBe(2))
  await Promise.all(jobs.map((job) => job.stop()))
  expect(await isRunning(redis, 'few')).toBe(false)
})

test('a lock that Redis lost is taken again by the process that runs the job, if no other has it', async () => {
  let runs = 0
  let isLost = false
  const job = runOnOneProcess({
    ...{ redis, name: 'kept', everyMs: 10, lockMs: 90 },
    async run(over) {
      runs += 1
      over.addEventListener('abort', () => {
        isLost = true
      })
      await new Promise((resolve) => over.addEventListener('abort', resolve))
    },
    onFailure: (error) => expect.unreachable(String(error)),
  })
  await eventually(() => expect(runs).toBe(1))
  await redis.flushall()
  await eventually(async () => expect(await isRunning(redis, 'kept')).toBe(true))
  expect({ runs, isLost }).toEqual({ runs: 1, isLost: false })
  await job.stop()
})

test('a process whose run fails leaves the job to others that can do it', async () => {
  const runs = { cutOff: 0, healthy: 0 }
  const start = (process: keyof typeof runs, run: (over: AbortSignal) => Promise<unknown>) =>
    runOnFewProcesses({
      ...{ redis, name: 'given-up', processes: 1, everyMs: 10, standsBackMs: 60_000 },
      run(over) {
        runs[process] += 1
        return run(over)
      },
      onFailure: () => undefined,
    })
  const cutOff = start('cutOff', () => Promise.reject(new Error('cannot reach PostgreSQL')))
  await eventually(() => expect(runs.cutOff).toBe(1))
  const healthy = start(
    'healthy',
    (over) => new Promise((resolve) => over.addEventListener('abort', resolve)),
  )
  await eventually(() => expect(runs.healthy).toBe(1))
  await Promise.all([cutOff.stop(), healthy.stop()])
  expect(runs).toEqual({ cutOff: 1, healthy: 1 })
})

test('a job that is not due takes no lock; one that another process made not due does not run', async () => {
  let [asked, runs] = [0, 0]
  const job = runOnOneProcess({
    redis,
    name: 'due-once',
    everyMs: 1,
    isDue: async () => ++asked === 1,
    run: async () => void runs++,
    onFailure: (error) => expect.unreachable(String(error)),
  })
  await eventually(() => expect(asked).toBeGreaterThan(5))
  await job.stop()
  expect(runs).toBe(0)
})

test('a run that fails is reported once and repeated, and stopping aborts its signal and waits for it', async () => {
  const failures: unknown[] = []
  let [runs, isEnded] = [0, false]
  const job = runOnOneProcess({
    redis,
    name: 'failing',
    everyMs: 1,
    async run(stopping) {
      runs += 1
      if (runs < 4) throw new Error('not yet')
      await new Promise((resolve) => stopping.addEventListener('abort', resolve))
      isEnded = true
    },
    onFailure: (error) => failures.push(error),
  })
  await eventually(() => expect(runs).toBe(4))
  await job.stop()
  expect({ isEnded, failures }).toEqual({ isEnded: true, failures: [new Error('not yet')] })
})
