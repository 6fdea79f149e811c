import { expect, test } from 'vitest'
import type { KeyList } from '../../../src/core/api/keys.ts'
import { ask } from '../../helpers/chat-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { expectAccessibleAtBothWidths } from '../accessibility.ts'
import { expectGoodPage } from '../good-page.ts'
import { opened, sample, stack } from './account-console.ts'

const PROMPT = 'When does the night mail leave?'

/** Makes a call, and waits until it is settled and logged. */
async function loggedCall(): Promise<string> {
  const caller = { url: stack.url, key: sample.hidden.key }
  const { id } = await ask(caller, { model: 'acme/swift', messages: [{ role: 'user', content: PROMPT }] })
  await eventually(async () =>
    expect(await stack.postgres.promptLog.count({ where: { callId: id! } })).toBe(1),
  )
  await stack.settled(sample.accountId)
  return id!
}

test('prompts of a key are logged on request, shown on the page of the call, and deleted', async () => {
  const { page, watch } = opened
  const { data } = await sample.client.json<KeyList>('/console/api/keys')
  const key = data.find(({ state }) => state === 'active')!
  const keyPage = `${stack.url}/keys/${key.id}`

  await page.goto(keyPage)
  await page.getByRole('button', { name: 'Log prompts' }).click()
  const dialog = page.getByRole('dialog', { name: 'Log prompts of “night service”?' })
  await dialog.getByText('the request, with all messages').waitFor()
  await expectAccessibleAtBothWidths(page)
  await dialog.getByLabel('Keep for').selectOption('3')
  await dialog.getByRole('button', { name: 'Turn on logging' }).click()
  await page.getByText('on, kept for 3 days').waitFor()

  const callId = await loggedCall()
  await page.goto(`${stack.url}/usage`)
  await page.getByRole('cell').getByText('prompts logged').first().waitFor()
  expect(await watch.placesOf(PROMPT)).toEqual([])

  await page.goto(`${stack.url}/calls/${callId}`)
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('figure').filter({ hasText: PROMPT }).first().waitFor()
  await page.getByRole('heading', { name: 'Answer', exact: true }).waitFor()
  await expectAccessibleAtBothWidths(page)
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByText('Copied.', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Replay in playground' }).click()
  await expect.poll(() => page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe(PROMPT)

  await page.goto(keyPage)
  await page.getByRole('button', { name: 'Stop logging' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Stop logging' }).click()
  await page.getByRole('button', { name: 'Log prompts' }).waitFor()
  await page.goto(`${stack.url}/calls/${callId}`)
  await expectGoodPage(opened, page.url(), 'Call')
  expect(await page.getByRole('heading', { name: 'Prompt and answer' }).count()).toBe(0)
  expect(await stack.postgres.promptLog.count({ where: { keyId: key.id } })).toBe(0)
  expect(watch.problems).toEqual([])
})
