import { expect, test } from 'vitest'
import { createLoadBound } from '../../../src/calls/admission/load-bound.ts'

test('calls that are being admitted count: while Redis hangs, no more come in than an instance may have', async () => {
  let waiting = 1
  const load = createLoadBound(() => waiting, 3)
  let admit: () => void = () => undefined
  const hanging = [0, 1].map(() =>
    load.enter(
      'account',
      () =>
        new Promise<void>((resolve) => {
          admit = resolve
        }),
    ),
  )
  await expect(load.enter('account', async () => undefined)).rejects.toMatchObject({ code: 'overloaded' })
  admit()
  await hanging[1]
  expect(load.entering).toBe(1)
  await load.enter('account', async () => undefined)
  waiting = 2
  await expect(load.enter('account', async () => undefined)).rejects.toMatchObject({ code: 'overloaded' })
})

test('an admission that fails makes room again', async () => {
  const load = createLoadBound(() => 0, 1)
  await expect(load.enter('account', async () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(await load.enter('account', async () => 'admitted')).toBe('admitted')
})

test('a call whose turn does not come in time is refused, and counts no more', async () => {
  const never = {
    take: (_: string, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  }
  const load = createLoadBound(() => 0, 1, never, 1)
  await expect(load.enter('account', async () => 'admitted')).rejects.toMatchObject({ code: 'overloaded' })
  expect(load.entering).toBe(0)
})
