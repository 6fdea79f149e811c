import { describe, expect, test } from 'vitest'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { ask } from '../helpers/chat-client.ts'
import { signedUp } from '../helpers/console-client.ts'
import { onBusyMachine } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { getAs, postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-100' }],
    'test/slow': [{ at: 'alpha', model: 'words-2000.rate-40' }],
  },
  apis: 2,
})

describe('the state of an account', () => {
  const show = async (accountId: string) => (await stack.command('admin', 'account', 'show', accountId)).json

  test('follows its money: exhausted when nothing can be paid any more, active when credited', async () => {
    const { key, accountId } = await stack.account('0.0004')
    expect(await show(accountId)).toMatchObject({ state: 'active' })
    const call = () => ask({ url: stack.url, key }, { model: 'test/plain' })
    // Each call gets what the balance affords, so the last leaves less than the shortest call costs.
    let answer = await call()
    while (answer.status === 200) {
      await stack.settled(accountId)
      answer = await call()
    }
    expect(answer.errorCode).toBe('insufficient_balance')
    expect(await show(accountId)).toMatchObject({ state: 'exhausted' })
    const credited = await stack.command('admin', 'account', 'credit', accountId, '--amount', '1.00')
    expect(credited.json).toMatchObject({ state: 'active', spendable_now: true })
    expect((await call()).status).toBe(200)
    await expectLedgerInOrder(stack)
  })

  test('begins with a free credit where nothing is paid, and ends that with the first credit', async () => {
    const email = 'trial@example.test'
    const created = await stack.command('admin', 'account', 'create', '--email', email)
    expect(created.json).toMatchObject({ state: 'free_credit', balance_usd: '0.50' })
    const credited = await stack.command('admin', 'account', 'credit', email, '--amount', '5')
    expect(credited.json).toMatchObject({ state: 'active', balance_usd: '5.50' })
  })

  test('suspended is 403 at every instance without waiting for the reload, and resumed is not', async () => {
    const { key, accountId } = await stack.account('5.00')
    const statuses = () =>
      Promise.all(stack.urls.map(async (url) => (await getAs(key, `${url}/v1/key`)).status))
    expect(await statuses()).toEqual([200, 200])
    const suspended = await stack.command('admin', 'account', 'suspend', accountId)
    expect(suspended.json).toMatchObject({ state: 'suspended' })
    await expect.poll(statuses, { timeout: onBusyMachine(1_000), interval: 20 }).toEqual([403, 403])
    await stack.command('admin', 'account', 'resume', accountId)
    await expect.poll(statuses, { timeout: onBusyMachine(1_000), interval: 20 }).toEqual([200, 200])
    expect(await show(accountId)).toMatchObject({ state: 'active' })
  })

  test('suspended ends the calls that run, truthfully, and the sessions for good', async () => {
    const holder = await signedUp(stack.url)
    const { account } = await holder.json<SessionView>('/console/api/session')
    const { secret } = await holder.json<CreatedKey>('/console/api/keys', { body: { name: 'mine' } })
    const response = await postAs(secret, `${stack.url}/v1/chat/completions`, {
      model: 'test/slow',
      messages: [{ role: 'user', content: 'go' }],
      stream: true,
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader.read()).value ?? ''
    await stack.command('admin', 'account', 'suspend', account.id)
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    expect(text).toContain('"code":"account_suspended"')
    expect(text).not.toContain('[DONE]')
    await stack.command('admin', 'account', 'resume', account.id)
    expect((await holder.ask('/console/api/session')).status).toBe(401)
    await stack.settled(account.id)
    await expectLedgerInOrder(stack)
  })
})
