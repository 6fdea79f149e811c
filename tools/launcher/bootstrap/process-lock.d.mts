export function tryLock(
  path: string,
): { acquired: true; release: () => void } | { acquired: false; holderPid: number }

export function waitForLock(
  path: string,
  options: { onWait?: (holderPid: number) => void; timeoutMs: number },
): Promise<() => void>

export function processStartTime(pid: number): string

export function isRunning(pid: number, startTime: string): boolean

export function parentOf(pid: number): number | null
