/**
 * `shuntyard gate [SURFACE …]`: the gate of an installed package, over throwaway data. The client libraries that it checks with are no part
 * of the package: the versions that package.json names are installed into the data folder first.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../../tools/launcher/bootstrap/installation.mjs'
import { withProgress } from '../../tools/launcher/bootstrap/run-process.mjs'
import { dataDirectory } from '../../tools/launcher/bootstrap/running-services.mjs'
import { installPackages } from '../../tools/launcher/services/install-packages.ts'

const CLIENTS = ['openai', '@anthropic-ai/sdk', 'ai', '@ai-sdk/openai-compatible', '@openai/agents', 'zod']

const { devDependencies } = JSON.parse(readFileSync(join(ROOT, '..', 'package.json'), 'utf8'))
const versions = Object.fromEntries(CLIENTS.map((name) => [name, devDependencies[name]]))
const cache = join(dataDirectory(ROOT, process.env), 'cache', 'gate')
const { folder } = await withProgress('installing the client libraries', () =>
  installPackages({ registry: 'npm', versions }, cache),
)
const parentURL = pathToFileURL(join(folder, 'package.json')).href
registerHooks({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
      return next(specifier, { ...context, parentURL })
    }
  },
})
await import('./gate.ts')
