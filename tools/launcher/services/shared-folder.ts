import { accessSync, chmodSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const PARENTS = ['/var/lib', '/var/tmp']

/**
 * A folder outside root's home that other users may enter. Used only when root starts the services: then
 * PostgreSQL runs as another user, who may not enter root's folders, and their permissions stay as they are.
 */
export function sharedFolder(): string {
  const parent = PARENTS.find(isWritable)
  if (!parent) throw new Error(`none of ${PARENTS.join(', ')} can be written to; set DATABASE_URL`)
  const folder = join(parent, 'switchyard')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  return folder
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    // The question was whether; the answer is no.
    return false
  }
}
