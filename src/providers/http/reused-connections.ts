import diagnostics from 'node:diagnostics_channel'

/** The HTTP client names the socket of a request on its diagnostics channels only. */
const watched = new WeakMap<object, { isReused: boolean }>()
/** The sockets that have carried a request. */
const used = new WeakSet<object>()
/** What is noted of the request that is being made. */
let making: { isReused: boolean } | null = null

diagnostics.subscribe('undici:request:create', (message) => {
  if (making) watched.set((message as { request: object }).request, making)
  making = null
})

diagnostics.subscribe('undici:client:sendHeaders', (message) => {
  const { request, socket } = message as { request: object; socket: object }
  const connection = watched.get(request)
  if (!connection) return
  connection.isReused = used.has(socket)
  used.add(socket)
})

/** Sends a request, and returns whether it went to a connection that had carried another one. */
export function watchReuse(dispatch: () => void): () => boolean {
  const connection = { isReused: false }
  making = connection
  try {
    dispatch()
  } finally {
    making = null
  }
  return () => connection.isReused
}
