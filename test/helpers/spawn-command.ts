import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { CommandResult } from '../../src/cli/run-command.ts'
import { ofRunner } from './stack-part.ts'

const CLI = join(import.meta.dirname, '../../src/cli')

/** Runs an operator's command as a process of its own, with nothing but the given environment. */
export function spawnCommand(
  name: string,
  args: string[],
  environment: Record<string, string>,
  cwd?: string,
): Promise<CommandResult> {
  const options = { cwd, env: { ...ofRunner(), ...environment } }
  return new Promise((resolve) => {
    execFile(process.execPath, [join(CLI, `${name}.ts`), ...args], options, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err })
    })
  })
}
