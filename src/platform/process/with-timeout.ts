/**
 * Resolves to the value of a promise, or to `fallback` if it fails or takes longer than `ms`. `onError` receives a
 * failure, including a late one.
 */
export function withTimeout<T>(
  promise: Promise<T>,
  ms: number,
  fallback: T,
  onError: (error: unknown) => void = () => undefined,
): Promise<T> {
  return new Promise((resolve) => {
    // Waits for pending input: timers run first, and a process that was blocked has responses to read.
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
