import type { Socket } from 'node:net'
import plugin from 'fastify-plugin'

/** After the grace period, calls are ended truthfully; their last bytes get this long to leave. */
const LAST_BYTES_MS = 1_000

/**
 * Lets the server close while clients keep connections open. Node itself closes those that wait between two
 * requests, but one that was opened and said nothing yet, or half a request, would hold it open for good.
 * Connections with an answer under way close when it has ended, all others at once, and whatever is left
 * after the grace period then.
 */
export const closeConnections = plugin<{ graceMs: number }>(
  async (app, { graceMs }) => {
    /** Answers under way by connection. */
    const answers = new Map<Socket, number>()
    let closing = false
    let timer: NodeJS.Timeout | undefined

    app.server.on('connection', (socket) => {
      if (closing) {
        socket.destroy()
        return
      }
      answers.set(socket, 0)
      socket.once('close', () => answers.delete(socket))
    })
    app.server.on('request', ({ socket }, response) => {
      answers.set(socket, (answers.get(socket) ?? 0) + 1)
      response.once('close', () => {
        const open = answers.get(socket)
        // Absent when the connection is gone already.
        if (open === undefined) return
        answers.set(socket, open - 1)
        if (closing && open === 1) socket.destroySoon()
      })
    })

    app.addHook('preClose', async () => {
      closing = true
      for (const [socket, open] of answers) if (open === 0) socket.destroy()
      timer = setTimeout(() => {
        for (const socket of answers.keys()) socket.destroy()
      }, graceMs + LAST_BYTES_MS)
    })
    app.addHook('onClose', async () => clearTimeout(timer))
  },
  { name: 'close-connections' },
)
