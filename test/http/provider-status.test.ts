import { expect, test } from 'vitest'
import type { GatewaySettingsView } from '../../src/core/api/gateway.ts'
import type { OperatorActionView } from '../../src/core/api/operations.ts'
import type { ProviderStatusList } from '../../src/core/api/provider-status.ts'
import type { Page } from '../../src/core/api/shared.ts'
import { testOperator, testStack } from '../helpers/resources.ts'
import { expectError } from './wire.ts'

const stack = testStack()
const admin = testOperator(stack)

const visit = () => fetch(`${stack.url}/console/api/provider-status`)
const publish = (isPublic: boolean) => admin.send('PATCH', '/settings', { provider_status_public: isPublic })

test('the status of providers is public while an operator says so, and every change is recorded', async () => {
  expect(await admin.get<GatewaySettingsView>('/settings')).toEqual({ provider_status_public: false })
  await expectError(await visit(), 404, 'not_found')
  const { data } = await admin.get<ProviderStatusList>('/provider-status')
  expect(data.map(({ id }) => id)).toEqual(['alpha'])
  expect((await publish(true)).status).toBe(200)
  const answer = await visit()
  expect(answer.headers.get('cache-control')).toBe('public, max-age=30')
  expect(((await answer.json()) as ProviderStatusList).data).toMatchObject([
    { id: 'alpha', state: 'unknown', open_circuits: 0, latency_p50_ms: null },
  ])
  expect((await publish(false)).status).toBe(200)
  await expectError(await visit(), 404, 'not_found')
  const actions = (await admin.get<Page<OperatorActionView>>('/actions?target=gateway')).data
  expect(actions.map(({ action, details }) => [action, details.providerStatusPublic])).toEqual([
    ['settings.change', false],
    ['settings.change', true],
  ])
  await expectError(await admin.send('PATCH', '/settings', { unknown: true }), 400, 'invalid_request')
})
