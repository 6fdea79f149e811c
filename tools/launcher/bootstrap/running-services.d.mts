export interface RunningServices {
  pid: number
  startTime: string
  /** What the operator's commands need: DATABASE_URL, REDIS_URL, MASTER_KEY and the like. */
  environment: Record<string, string>
}

export function dataDirectory(root: string, environment: Record<string, string | undefined>): string

export function runtimeFile(dataDir: string): string

export function findRunningServices(dataDir: string): RunningServices | null
