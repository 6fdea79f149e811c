import { type OverlayWatch, watchOverlay } from '../catalog/catalog-overlay.ts'
import { type CatalogStore, createCatalogStore } from '../catalog/catalog-store.ts'
import { createPlatformKeys } from '../catalog/platform-keys.ts'
import type { Config } from '../config.ts'
import type { Redis } from '../platform/redis/redis.ts'
import type { Clients } from './clients.ts'

/** The catalog of one process and its sources. */
export interface ComposedCatalog {
  /** The changes by operators and price files; follows changes in the fleet. */
  overlay: OverlayWatch
  platformKeys: ReturnType<typeof createPlatformKeys>
  catalog: CatalogStore
}

/** Follows the fleet's overlay over a connection in subscriber mode, and builds the catalog with it. */
export async function composeCatalog(
  config: Readonly<Config>,
  { redis, logger, resources }: Pick<Clients, 'redis' | 'logger' | 'resources'>,
  subscriber: Redis,
): Promise<ComposedCatalog> {
  const overlay = await watchOverlay({ redis, subscriber, logger })
  resources.defer(() => overlay.stop())
  const platformKeys = createPlatformKeys({ ...config, environment: process.env, overlay, logger })
  const catalog = await createCatalogStore({ ...config, platformKeys, overlay, logger })
  resources.defer(() => catalog.close())
  return { overlay, platformKeys, catalog }
}
