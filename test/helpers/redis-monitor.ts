import { connect } from 'node:net'

export interface RedisCounts {
  /** Scripts that clients ran. */
  scripts: number
  /** Everything else that clients sent. */
  others: number
  insideScripts: number
}

export interface RedisMonitor {
  /** Ends watching once every command that ran until now was seen, and returns how many there were. */
  stop(): Promise<RedisCounts>
}

const LINE = /^\+\d+\.\d+ \[\d+ ([^\]]+)\] "([^"]+)"/
const SCRIPT = /^(?:evalsha|eval|fcall)(?:_ro)?$/i
const ARGUMENT = /"((?:[^"\\]|\\.)*)"/g

/**
 * MONITOR over a bare socket: one line a command, those inside scripts marked as Lua's. ioredis takes a command that
 * comes in one read with the reply to MONITOR for an error.
 * @param url `redis:` or `unix:`
 * @param watch gets the arguments of each command, its name first, with what is not printable as Redis escapes it
 */
export async function startRedisMonitor(
  url: string,
  watch?: (args: string[], isInScript: boolean) => void,
): Promise<RedisMonitor> {
  const { protocol, hostname, port, pathname } = new URL(url)
  const socket = connect(protocol === 'unix:' ? { path: pathname } : { host: hostname, port: Number(port) })
  const counts: RedisCounts = { scripts: 0, others: 0, insideScripts: 0 }
  let rest = ''
  const started = new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '+OK') resolve()
        const [, client, command = ''] = LINE.exec(line) ?? []
        if (client === undefined) continue
        if (client === 'lua') counts.insideScripts++
        else if (SCRIPT.test(command)) counts.scripts++
        else counts.others++
        watch?.(argumentsOf(line), client === 'lua')
      }
    })
  })
  socket.write('MONITOR\r\n')
  await started
  return {
    async stop() {
      const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
      socket.end('QUIT\r\n')
      await ended
      return counts
    },
  }
}

const argumentsOf = (line: string): string[] =>
  Array.from(line.matchAll(ARGUMENT), ([, text]) => text!.replaceAll(/\\(["\\])/g, '$1'))
