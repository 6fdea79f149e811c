import { join } from 'node:path'
import { StartError } from '../../core/kernel/errors.ts'
import type { MasterKeys } from '../sealing.ts'
import { type BodyStore, createBodyStore } from './body-store.ts'
import { createFolderStorage } from './folder-storage.ts'
import { createStreamSealer } from './stream-sealer.ts'

/** The store's environment variables; see docs/operating.md. */
export interface BodyStoreSettings {
  dataDir: string
  storedFilesS3Bucket: string | null
  storedFilesS3Prefix: string
  storedFilesS3Region: string
  storedFilesS3Endpoint: string | null
  storedFilesBytesInAll: number
  storedFilesFreeDiskBytes: number
  masterKeys: MasterKeys
}

const PURPOSE = 'stored-bodies'
const BYTES_PER_ACCOUNT = 256 * 1024 * 1024

/**
 * Opens the configured store: a bucket if one is set, otherwise a folder of the data directory. Throws StartError if a
 * bucket is set and the packages for it are not installed.
 */
export async function openBodyStore(settings: BodyStoreSettings): Promise<BodyStore> {
  return createBodyStore({
    storage: await openStorage(settings),
    sealer: createStreamSealer(settings.masterKeys, PURPOSE),
    limits: {
      bytesPerAccount: BYTES_PER_ACCOUNT,
      bytesInAll: settings.storedFilesBytesInAll,
      freeBytes: settings.storedFilesFreeDiskBytes,
    },
    clock: Date.now,
  })
}

async function openStorage(settings: BodyStoreSettings) {
  const { storedFilesS3Bucket: bucket } = settings
  if (bucket === null) return createFolderStorage(join(settings.dataDir, 'bodies'))
  // The SDK is an optional dependency and loaded only here, because most gateways do not use a bucket.
  const { createS3Storage } = await import('./s3-storage.ts').catch(explainMissingSdk)
  return createS3Storage({
    bucket,
    prefix: settings.storedFilesS3Prefix,
    region: settings.storedFilesS3Region,
    endpoint: settings.storedFilesS3Endpoint,
  })
}

function explainMissingSdk(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes("'@aws-sdk/")) throw error
  throw new StartError(
    'STORED_FILES_S3_BUCKET is set, but the packages @aws-sdk/client-s3 and @aws-sdk/lib-storage are not installed',
    { cause: error },
  )
}
