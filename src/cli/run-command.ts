/** The output of a command: `data` for `--json`, `text` for people; `failed` makes the exit code 1. */
export interface CommandOutput {
  data: unknown
  text: string
  failed?: boolean
}

/** Wrong arguments; the message is the usage. The exit code is 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** An operator's command, called with its arguments and its environment variables. */
export type Command = (args: string[], environment: NodeJS.ProcessEnv) => Promise<CommandOutput>

/** The result of a command: its exit code, standard output and standard error. */
export interface CommandResult {
  code: number
  out: string
  err: string
}

/**
 * Runs an operator's command. Its exit code is 0, 1 when it failed, 2 when it was called wrongly.
 * With `--json`, exactly one JSON document goes to standard output, `{"error": …}` on failure.
 */
export async function runCommand(
  command: Command,
  args: string[],
  environment: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const json = args.includes('--json')
  try {
    const { data, text, failed = false } = await command(args, environment)
    const out = `${json ? JSON.stringify(data, bigintAsText) : text}\n`
    return { code: failed ? 1 : 0, out, err: '' }
  } catch (error) {
    const code = error instanceof UsageError || isArgumentError(error) ? 2 : 1
    const message = describe(error)
    return json
      ? { code, out: `${JSON.stringify({ error: message })}\n`, err: '' }
      : { code, out: '', err: `${message}\n` }
  }
}

export async function runAsProcess(command: Command): Promise<void> {
  const { code, out, err } = await runCommand(command, process.argv.slice(2), process.env)
  process.stdout.write(out)
  process.stderr.write(err)
  process.exitCode = code
}

const bigintAsText = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

/** Prisma's messages start with the source of the failed call; their last line has the error. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.startsWith('\nInvalid `') ? (message.trim().split('\n').at(-1) ?? message) : message
}

/** The errors of node:util's parseArgs for an unknown option or a missing value. */
const isArgumentError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')

/** A view of one object, as JSON and as lines. */
export const one = (view: Record<string, unknown>): CommandOutput => ({ data: view, text: lines(view) })

/** A view of one object with its secret, which is shown only once. */
export const withSecret = (
  field: string,
  secret: string,
  note: string,
  view: Record<string, unknown>,
): CommandOutput => ({ data: { ...view, [field]: secret }, text: `${secret}\n\n${note}\n\n${lines(view)}` })

export const list = (
  name: string,
  views: ReadonlyArray<Record<string, unknown>>,
  none: string,
): CommandOutput => ({ data: { [name]: views }, text: views.map(lines).join('\n\n') || none })

/** A view whose id is named after its kind, as commands print it. */
export const named = <View extends { id: string }>(name: string, { id, ...view }: View) => ({
  [name]: id,
  ...view,
})

/** Aligned lines of `name  value`, for people. Nulls and empty texts are omitted. */
export function lines(view: Record<string, unknown>): string {
  const shown = Object.entries(view).filter(([, value]) => value !== null && value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${String(value)}`).join('\n')
}
