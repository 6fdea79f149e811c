import { jsonRootOf, mayBeRepaired } from '../../core/json/json-repair.ts'
import { threads } from '../../platform/process/thread-pool.ts'

/** An answer of the longest repairable length takes under a tenth of a second on an idle machine. */
const REPAIR_LIMIT_MS = 250

/** An answer that was asked to be JSON, repaired where it is none and can be; as it came where that takes too long. */
export async function repairedAnswer(
  content: string,
  responseFormat: Record<string, unknown> | undefined,
): Promise<string> {
  if (!mayBeRepaired(content)) return content
  const options = { weight: content.length, limitMs: REPAIR_LIMIT_MS }
  const outcome = await threads.run('repairJson', { content, root: jsonRootOf(responseFormat) }, options)
  return outcome.kind === 'done' ? outcome.value : content
}
