/**
 * The value of a promise, or `fallback` when it fails or takes longer than `ms`. `onError` receives a failure, also one
 * that comes too late.
 */
export function withTimeout<T>(
  promise: Promise<T>,
  ms: number,
  fallback: T,
  onError: (error: unknown) => void = () => undefined,
): Promise<T> {
  return new Promise((resolve) => {
    // After input: timers run first, and a process that was itself held up has responses to read.
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
