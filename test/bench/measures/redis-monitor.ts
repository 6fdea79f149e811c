import { connect } from 'node:net'

export interface RedisCounts {
  /** Scripts that clients ran. */
  scripts: number
  /** Everything else that clients sent. */
  others: number
  insideScripts: number
}

export interface RedisMonitor {
  /** Ends watching and returns how many commands there were. */
  stop(): RedisCounts
}

const LINE = /^\+\d+\.\d+ \[\d+ ([^\]]+)\] "([^"]+)"/
const SCRIPT = /^(?:evalsha|eval|fcall)(?:_ro)?$/i

/** MONITOR over a bare socket: one line a command, those inside scripts marked as Lua's. */
export async function startRedisMonitor(url: string): Promise<RedisMonitor> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
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
      }
    })
  })
  socket.write('MONITOR\r\n')
  await started
  return {
    stop() {
      socket.destroy()
      return counts
    },
  }
}
