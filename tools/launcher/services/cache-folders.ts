import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where fetched programs are kept: shared by all copies of the project of a user, else in the data folder. */
export function cacheFolders(dataDir: string, environment: Record<string, string | undefined>): string[] {
  const userCache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache')
  return [join(userCache, 'switchyard'), join(dataDir, 'cache')]
}
