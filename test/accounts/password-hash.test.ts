import { describe, expect, test } from 'vitest'
import { createPasswordHasher } from '../../src/accounts/password-hash.ts'

const stranger = (network: number) => ({ group: `192.0.2.${network}/32`, isKnown: false })

describe('passwords that wait to be checked', () => {
  test('password checks of unknown networks do not delay users who signed in from theirs before', async () => {
    const passwords = createPasswordHasher()
    const flood = Array.from({ length: 90 }, (_, network) =>
      passwords.verify(null, 'guess', stranger(network)).then(
        () => 'checked',
        () => 'refused',
      ),
    )
    let checkedBefore = 0
    for (const attempt of flood) void attempt.then(() => checkedBefore++)
    const refusedAtOnce = 90 - 64 - 2
    const holders = await Promise.all(
      Array.from({ length: 3 }, (_, holder) =>
        passwords.verify(null, 'mine', { group: `holder-${holder}`, isKnown: true }),
      ),
    )
    expect(holders).toEqual([false, false, false])
    // The line of strangers and that of holders are served in turn.
    expect(checkedBefore - refusedAtOnce).toBeLessThan(12)
    expect((await Promise.all(flood)).filter((outcome) => outcome === 'refused')).toHaveLength(refusedAtOnce)
  })

  test('hashes asked for by one network leave room in the queue for others', async () => {
    const passwords = createPasswordHasher()
    const flood = Array.from({ length: 40 }, () => passwords.verify(null, 'guess', stranger(1)))
    const settled = Promise.allSettled(flood)
    await expect(passwords.verify(null, 'guess', stranger(2))).resolves.toBe(false)
    expect((await settled).filter(({ status }) => status === 'rejected')).toHaveLength(40 - 8 - 2)
  })
})
