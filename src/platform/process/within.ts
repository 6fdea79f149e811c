/**
 * The value of a promise, or `fallback` when it fails or takes longer than `ms`. For advice from Redis that
 * a call would rather do without than wait for. `onError` hears a failure, also one that comes too late.
 */
export function within<T>(
  promise: Promise<T>,
  ms: number,
  fallback: T,
  onError: (error: unknown) => void,
): Promise<T> {
  return new Promise((resolve) => {
    // A process that was itself held up first reads what has come meanwhile: timers run before input.
    const timer = setTimeout(() => setImmediate(resolve, fallback), ms)
    promise.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        onError(error)
        resolve(fallback)
      },
    )
  })
}
