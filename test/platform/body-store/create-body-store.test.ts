import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const STORE = new URL('../../../src/platform/body-store/create-body-store.ts', import.meta.url).href

/** Lets Node look for the SDK under a name that is not installed, so that it fails as it does without the SDK. */
const WITHOUT_SDK = `import { registerHooks } from 'node:module'
registerHooks({
  resolve: (name, context, next) => next(name.startsWith('@aws-sdk/') ? name + '-that-is-missing' : name, context),
})`

/** The error with which a store opens in a process without the AWS SDK; `opened` without one. */
async function openWithoutSdk(bucket: string | null): Promise<string> {
  const settings = { storedFilesS3Bucket: bucket, dataDir: '/nonexistent' }
  const script = `const { openBodyStore } = await import('${STORE}')
    const settings = { ...${JSON.stringify(settings)}, masterKeys: [Buffer.alloc(32)] }
    const error = await openBodyStore(settings).then(() => null, (error) => error)
    console.log(error === null ? 'opened' : error.name + ': ' + error.message)`
  const hooks = `data:text/javascript,${encodeURIComponent(WITHOUT_SDK)}`
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import',
    hooks,
    '--input-type=module',
    '--eval',
    script,
  ])
  return stdout.trim()
}

test('without the AWS SDK, a start with a bucket fails and names the packages', async () => {
  expect(await openWithoutSdk('files')).toBe(
    'StartError: STORED_FILES_S3_BUCKET is set, but the packages @aws-sdk/client-s3 and @aws-sdk/lib-storage are not installed',
  )
})

test('without the AWS SDK, files are stored in a folder', async () => {
  expect(await openWithoutSdk(null)).toBe('opened')
})
