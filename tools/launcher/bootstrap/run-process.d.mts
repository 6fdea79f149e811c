import type { SpawnOptions } from 'node:child_process'

export function runProcess(command: string, args: string[], options?: SpawnOptions): Promise<string>
