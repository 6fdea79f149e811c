import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withProgress } from './progress.mjs'
import { runProcess } from './run-process.mjs'

/**
 * True when the database client was generated from the schema and the Prisma that are here now.
 * @param {string} root
 */
export function clientIsCurrent(root) {
  const stamp = stampFile(root)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stampOf(root)
}

/**
 * Generates the database client. Needs no database and no network: Prisma insists on a schema engine being
 * there, but `generate` does not use it, so any program that exits well will do.
 * @param {string} root
 * @param {string} node the Node to run Prisma on
 */
export async function generateClient(root, node) {
  const stamp = stampOf(root)
  const args = [join(root, 'node_modules', 'prisma', 'build', 'index.js'), 'generate']
  const env = {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  }
  await withProgress('generating the database client', () => runProcess(node, args, { cwd: root, env }))
  writeFileSync(stampFile(root), stamp)
}

const stampFile = (root) => join(root, 'src', 'platform', 'prisma-client', '.stamp')

function stampOf(root) {
  const hash = createHash('sha256')
  for (const path of ['prisma/schema.prisma', 'prisma.config.ts', 'node_modules/prisma/package.json']) {
    hash.update(readFileSync(join(root, path)))
  }
  return hash.digest('hex')
}
