import { existsSync, readFileSync } from 'node:fs'
import type { ProcessIdentity } from '../processes/process-plan.ts'

const CANDIDATES = ['postgres', 'nobody']

/**
 * Whom PostgreSQL runs as: null for ourselves. PostgreSQL refuses to run as root, and needs a user that the
 * system knows by name; no user is created for it.
 */
export function postgresIdentity(): ProcessIdentity | null {
  if (process.getuid?.() !== 0) return null
  const users = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8').split('\n') : []
  for (const name of CANDIDATES) {
    const fields = users.find((line) => line.startsWith(`${name}:`))?.split(':')
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  throw new Error(
    'PostgreSQL does not run as root, and this system has neither a "postgres" nor a "nobody" user to run it as. Start as another user, or set DATABASE_URL.',
  )
}
