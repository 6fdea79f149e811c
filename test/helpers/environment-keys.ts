import { createPlatformKeys, type PlatformKeys } from '../../src/catalog/platform-keys.ts'

/** The platform keys of an environment, with none stored. */
export const environmentKeys = (environment: Record<string, string>): PlatformKeys =>
  createPlatformKeys({ environment, masterKeys: [Buffer.alloc(32)], logger: { error: () => undefined } })
