/** What a command has to say: `data` for `--json`, `text` for people; `failed` makes the exit code 1. */
export interface CommandOutput {
  data: unknown
  text: string
  failed?: boolean
}

/** Wrong arguments; its message is the usage. The exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Runs an operator's command and ends with its exit code: 0, 1 when it failed, 2 when it was called wrongly.
 * With `json`, exactly one JSON document goes to standard output, `{"error": …}` on failure.
 */
export async function runCommand(json: boolean, command: () => Promise<CommandOutput>): Promise<void> {
  try {
    const { data, text, failed = false } = await command()
    process.stdout.write(`${json ? JSON.stringify(data, bigintAsText) : text}\n`)
    process.exitCode = failed ? 1 : 0
  } catch (error) {
    const message = describe(error)
    if (json) process.stdout.write(`${JSON.stringify({ error: message })}\n`)
    else process.stderr.write(`${message}\n`)
    process.exitCode = error instanceof UsageError || isArgumentError(error) ? 2 : 1
  }
}

const bigintAsText = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

/** Prisma's messages open with the source of the failed call; their last line says what happened. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.startsWith('\nInvalid `') ? (message.trim().split('\n').at(-1) ?? message) : message
}

/** What node:util's parseArgs throws on an unknown option or a missing value. */
const isArgumentError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
