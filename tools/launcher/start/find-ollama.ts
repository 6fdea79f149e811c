const USUAL_ADDRESS = 'http://127.0.0.1:11434'
const TIMEOUT_MS = 400

/** The address of an Ollama on this machine, if one answers at its usual port. */
export async function findOllama(environment: Record<string, string | undefined>): Promise<string | null> {
  if (environment.OLLAMA_URL) return environment.OLLAMA_URL
  try {
    const response = await fetch(`${USUAL_ADDRESS}/api/version`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    await response.body?.cancel()
    return response.ok ? USUAL_ADDRESS : null
  } catch {
    // Most machines have none.
    return null
  }
}
