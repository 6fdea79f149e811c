import { runInNewContext } from 'node:vm'

/** A function took longer than it may. */
export class Interrupted extends Error {}

/**
 * Runs a synchronous function, and interrupts it after `maxMs`, wherever it is. Nothing of what it was changing is put
 * right, so it must only make a value. Takes a thread and most of a millisecond.
 * Throws Interrupted.
 */
export function runInterruptibly<T>(maxMs: number, run: () => T): T {
  try {
    return runInNewContext('run()', { run }, { timeout: maxMs }) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new Interrupted(`interrupted after ${maxMs} ms`)
  }
}
