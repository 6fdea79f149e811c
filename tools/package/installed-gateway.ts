import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import OpenAI from 'openai'

/** Who runs a program, and with which home folder. */
export interface Person {
  name: string
  home: string
  /** Undefined: ourselves. */
  uid?: number
  gid?: number
}

/** How the program is run: `['/usr/bin/shuntyard']`, or by npx. */
export type Program = readonly [string, ...string[]]

const READY = 'Shuntyard is running.'
const MESSAGES = [{ role: 'user' as const, content: 'Why do trains need shunting yards?' }]

/** Nothing of the npm that runs us. */
export function environmentOf({ home }: Person): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|INIT_CWD$|NODE_COMPILE_CACHE$|XDG_|DATA_DIR$)/i.test(name),
  )
  return { ...Object.fromEntries(kept), HOME: home }
}

/** Runs a command of the program to its end. Rejects with what it wrote when it fails. */
export async function runAs(
  person: Person,
  [command, ...first]: Program,
  args: readonly string[],
  { cwd = person.home, signal }: { cwd?: string; signal: AbortSignal },
): Promise<string> {
  const child = spawn(command, [...first, ...args], {
    cwd,
    env: environmentOf(person),
    signal,
    killSignal: 'SIGTERM',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...idsOf(person),
  })
  const output: Buffer[] = []
  const errors: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  const [code] = await once(child, 'close')
  const said = Buffer.concat([...output, ...errors])
  if (code !== 0) throw new Error(`${command} ${args.join(' ')}: exit code ${code}\n${said}`)
  return Buffer.concat(output).toString()
}

const idsOf = ({ uid, gid }: Person) => (uid === undefined ? {} : { uid, gid })

/** Starts the gateway and waits until it says that it runs. */
export async function startInstalled(
  person: Person,
  [command, ...first]: Program,
  { port, cwd = person.home, signal }: { port: number; cwd?: string; signal: AbortSignal },
) {
  const startedAt = performance.now()
  const child = spawn(command, [...first, 'start'], {
    cwd,
    env: { ...environmentOf(person), PORT: String(port) },
    signal,
    killSignal: 'SIGTERM',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...idsOf(person),
  })
  let output = ''
  const ended = once(child, 'close')
  await new Promise<void>((done, fail) => {
    const read = (chunk: Buffer) => {
      output += chunk
      if (output.includes(READY)) done()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    ended.then(() => fail(new Error(`start ended:\n${stripVTControlCharacters(output)}`)), fail)
  })
  const seconds = (performance.now() - startedAt) / 1000
  const baseURL = /base address +(\S+)/.exec(output)![1]!
  const apiKey = /API key +(\S+)/.exec(output)![1]!
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  return {
    seconds,
    apiKey,
    /** Streams one completion and returns its text. Rejects when it does not end as it should. */
    async stream(model = 'auto'): Promise<string> {
      let text = ''
      let reason: string | null = null
      for await (const { choices } of await client.chat.completions.create({
        model,
        messages: MESSAGES,
        stream: true,
      })) {
        text += choices[0]?.delta.content ?? ''
        reason = choices[0]?.finish_reason ?? reason
      }
      if (reason === null || text === '') throw new Error(`a stream of ${model} ended without its end`)
      return text
    },
    ended,
  }
}
