/**
 * The simulated providers as a process of their own: a development stand-in for real providers, and the
 * upstream of the bench. Environment: SIMULATED_PROVIDERS_PORT (9010), SIMULATED_PROVIDERS_HOST (127.0.0.1).
 */
import { startSimulatedProviders } from './start-simulated-providers.ts'

const DEFAULT_PORT = 9010

process.title = 'shuntyard-sim'
const port = Number(process.env.SIMULATED_PROVIDERS_PORT || DEFAULT_PORT)
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error('SIMULATED_PROVIDERS_PORT must be a port number')
  process.exit(1)
}
const providers = await startSimulatedProviders({
  port,
  host: process.env.SIMULATED_PROVIDERS_HOST || '127.0.0.1',
  recordedRequests: 0,
})
console.log(JSON.stringify({ level: 30, name: 'simulated-providers', msg: 'listening', url: providers.url }))

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, async () => {
    await providers.close()
    process.exit(0)
  })
}
