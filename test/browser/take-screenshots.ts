import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WatchedPage } from './browser.ts'
import { type DemoGateway, startDemoGateway } from './demo-gateway.ts'
import { untilLoaded, untilStill } from './on-screen.ts'
import { outlineFile, outlineOf, PICTURES_FOLDER } from './page-outline.ts'
import { PICTURES, type Picture } from './pictures.ts'
import { lendOperatorSession, lendSession } from './sample-account.ts'

const DESK = { width: 1280, height: 900 }

test('every picture is taken, with the outline of its page', async () => {
  const gateway = await startDemoGateway()
  try {
    await rm(PICTURES_FOLDER, { recursive: true, force: true })
    await mkdir(PICTURES_FOLDER, { recursive: true })
    const { browser, stack, client, adminKey } = gateway
    const guest = await browser.open(stack.url, { viewport: DESK })
    for (const picture of PICTURES.everyone) await take(guest, gateway, picture)
    const account = await browser.open(stack.url, { viewport: DESK })
    await lendSession(account, client, stack.url)
    for (const picture of PICTURES.account) await take(account, gateway, picture)
    const operator = await browser.open(stack.url, { viewport: DESK })
    await lendOperatorSession(operator, adminKey, stack.url)
    for (const picture of PICTURES.operators) await take(operator, gateway, picture)
    for (const { watch } of [guest, account, operator]) expect(watch.problems).toEqual([])
  } finally {
    await gateway.close()
  }
})

async function take({ page }: WatchedPage, gateway: DemoGateway, { name, path }: Picture): Promise<void> {
  const { stack, callId } = gateway
  await page.goto(stack.url + path.replace('CALL', callId))
  await page.locator('main h1').waitFor()
  await untilLoaded(page)
  await untilStill(page)
  await page.screenshot({ path: join(PICTURES_FOLDER, `${name}.png`) })
  await writeFile(outlineFile(name), await outlineOf(page))
}
