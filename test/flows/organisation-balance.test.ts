import { expect, test } from 'vitest'
import type { AccountCall } from '../../src/core/api/calls.ts'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import type { Page } from '../../src/core/api/shared.ts'
import type { UsageSeriesView } from '../../src/core/api/usage.ts'
import { formatUsd, parseUsd, picoUsd } from '../../src/core/kernel/money.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { type Member, organisationOf } from '../helpers/organisation.ts'
import { postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const stack = testStack()

test('two members spend one balance exactly, and usage is listed by member', async () => {
  const { accountId, members } = await organisationOf(stack, ['owner', 'developer'])
  const { owner, developer } = members
  await stack.command('admin', 'account', 'credit', accountId, '5')
  const keyOf = (one: Member) =>
    one.json<CreatedKey>('/console/api/keys', { body: { name: one.email } }).then(({ secret }) => secret)
  const [ofOwner, ofDeveloper] = [await keyOf(owner), await keyOf(developer)]
  const call = (key: string) =>
    postAs(key, `${stack.url}/v1/chat/completions`, {
      model: 'test/one',
      messages: [{ role: 'user', content: 'Hello' }],
    })
  const answers = await Promise.all([ofOwner, ofDeveloper, ofDeveloper].map(call))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])

  const usage = () =>
    developer.json<UsageSeriesView>('/console/api/usage/series?group_by=member&interval=day')
  await eventually(async () => expect((await usage()).total.calls).toBe(3))
  const { groups, total } = await usage()
  expect(groups.map(({ name, calls }) => [name, calls]).sort()).toEqual(
    [
      [owner.email, 1],
      [developer.email, 2],
    ].sort(),
  )
  const { balance } = await owner.json<SessionView>('/console/api/session')
  const leftPico = parseUsd('5.00') - parseUsd(total.cost_usd)
  expect(balance).toMatchObject({ balance_usd: formatUsd(picoUsd(leftPico)), held_usd: '0.00' })
  const logged = await owner.json<Page<AccountCall>>(`/console/api/calls?member_id=${developer.personId}`)
  expect(logged.data).toHaveLength(2)
  for (const one of [owner, developer]) {
    const own = await stack.postgres.account.findUniqueOrThrow({ where: { id: one.personId } })
    expect(formatUsd(picoUsd(own.balancePico))).toBe('0.50')
  }
  await expectLedgerInOrder(stack)
})
