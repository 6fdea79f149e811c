import { resolve } from 'node:path'
import { createServer } from 'vite'
import { consoleFolder } from './build-console.ts'

/**
 * `npm run console:dev`: the console's pages straight from their sources, reloaded when these change, over the
 * gateway of a running `npm start` (GATEWAY_URL, else http://127.0.0.1:8080).
 */
const folder = consoleFolder(resolve(import.meta.dirname, '../..'))
const server = await createServer({ configFile: resolve(folder, 'vite.config.ts') })
await server.listen()
server.printUrls()
