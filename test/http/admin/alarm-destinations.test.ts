import { expect, test } from 'vitest'
import type { AlarmDestinationView } from '../../../src/core/api/alarm-destinations.ts'
import type { AlarmView, OperatorActionView } from '../../../src/core/api/operations.ts'
import type { List, Page } from '../../../src/core/api/shared.ts'
import { ask } from '../../helpers/chat-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testOperator, testStack, testWebhookReceiver } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const receiver = testWebhookReceiver()
const stack = testStack({
  models: { 'test/refused': [{ at: 'beta', model: 'status-401' }] },
  environment: { ALARMS_ALLOW_PRIVATE: 'true', PUBLIC_URL: 'https://gateway.example' },
})
const admin = testOperator(stack)

const PATH = '/alarm-destinations'
const slack = (changes = {}) => ({
  ...{ kind: 'slack', name: 'team', target: receiver.url, minimum_severity: 'critical' },
  ...changes,
})
const list = async () => (await admin.get<List<AlarmDestinationView>>(PATH)).data

test('a destination gets a test, then the alarms of its severity; its address is in no answer and no record', async () => {
  const made = await admin.post<AlarmDestinationView>(PATH, slack())
  expect(made).toMatchObject({ kind: 'slack', target: `127.0.0.1:${receiver.port}/…hook`, enabled: true })
  await admin.post(`${PATH}/${made.id}/test`)
  const [first] = await receiver.count(1)
  expect(JSON.parse(first!.body).text).toContain('This is a test')
  await eventually(async () =>
    expect(await list()).toMatchObject([{ delivered_at: expect.any(String), waiting: 0, error: null }]),
  )
  const owner = await stack.account('1.00')
  await ask(owner, { model: 'test/refused' })
  const told = (await receiver.count(2))[1]!
  expect(JSON.parse(told.body).text).toContain('https://gateway.example/admin/providers/beta')
  const { data } = await admin.get<Page<AlarmView>>('/alarms')
  expect(data).toContainEqual(
    expect.objectContaining({
      kind: 'provider-refused',
      severity: 'critical',
      summary: expect.stringContaining('at provider beta opened'),
      page: '/admin/providers/beta',
      runbook: '/admin/alarms?tab=runbook#provider-refused',
      resolved_at: null,
    }),
  )
  const actions = (await admin.get<Page<OperatorActionView>>(`/actions?target=${made.id}`)).data
  expect(actions.map(({ action }) => action)).toEqual(['alarm_destination.test', 'alarm_destination.create'])
  expect(JSON.stringify([await list(), actions])).not.toContain(receiver.url)
})

test('a destination is renamed, disabled, enabled and deleted; what is disabled gets nothing', async () => {
  const { id } = await admin.post<AlarmDestinationView>(PATH, slack({ name: 'other' }))
  const change = async (changes: object) =>
    (await (await admin.send('PATCH', `${PATH}/${id}`, changes)).json()) as AlarmDestinationView
  expect(await change({ enabled: false, name: 'night', minimum_severity: 'info' })).toMatchObject({
    ...{ id, enabled: false, name: 'night', minimum_severity: 'info' },
  })
  await expectError(await admin.send('POST', `${PATH}/${id}/test`), 400, 'invalid_request')
  expect(await change({ enabled: true })).toMatchObject({ enabled: true, name: 'night' })
  expect((await admin.send('DELETE', `${PATH}/${id}`)).status).toBe(200)
  expect((await list()).map((one) => one.id)).not.toContain(id)
  await expectError(await admin.send('DELETE', `${PATH}/${id}`), 404, 'not_found')
  await expectError(await admin.send('PATCH', `${PATH}/${id}`, { name: 'x' }), 404, 'not_found')
})

test('a target that cannot be one is refused', async () => {
  const refused = [
    slack({ target: 'ftp://example.com' }),
    slack({ target: 'https://user:secret@example.com/' }),
    slack({ kind: 'pagerduty', target: 'too-short' }),
    slack({ kind: 'pagerduty', target: 'A'.repeat(32), url: 'not a url' }),
    slack({ kind: 'email', target: 'ops@example.com' }),
    slack({ kind: 'telegram' }),
    slack({ name: 'line\nbreak' }),
    slack({ minimum_severity: 'fatal' }),
    slack({ url: receiver.url }),
  ]
  for (const body of refused) await expectError(await admin.send('POST', PATH, body), 400, 'invalid_request')
  const before = await list()
  expect(before.map(({ name }) => name)).toEqual(['team'])
})
