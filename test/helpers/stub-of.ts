import type { Redis } from '../../src/platform/redis/redis.ts'

/** A dependency with only the members that a test reaches; the compiler checks those. */
export const stubOf = <T extends object>(members: Partial<T>): T => members as T

/** A Redis with only these commands, in the one form that is called. */
export const fakeRedis = (commands: Partial<Record<keyof Redis, unknown>>): Redis => commands as Redis
