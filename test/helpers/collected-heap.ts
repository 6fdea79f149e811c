import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of the heap that are in use, without garbage. */
export function collectedHeapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}
