import { beforeAll } from 'vitest'
import type { OperatorRole } from '../../src/core/accounts/operator-permissions.ts'
import { type AdminClient, adminClient } from './admin-client.ts'
import { openTestLedger, type TestLedger } from './billing.ts'
import { type MailCatcher, startMailCatcher } from './mail-catcher.ts'
import { createTestRedis, type TestRedis } from './services.ts'
import { type StackOptions, startStack, type TestAccount, type TestStack } from './stack.ts'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

/**
 * What a file or a block of tests runs on: each is opened before the first test and closed after the last, in reverse
 * order, also where a later one could not be opened. Hooks and tests find its members in what is returned.
 */

/** @param options a function where they depend on a resource that is opened before */
export const testStack = (options?: StackOptions | (() => StackOptions)): TestStack =>
  opened(() => startStack(typeof options === 'function' ? options() : options))

export const testLedger = (): TestLedger => opened(openTestLedger)

export const testRedis = (): TestRedis => opened(createTestRedis)

export const testMailCatcher = (): MailCatcher => opened(startMailCatcher)

export const testWebhookReceiver = (): WebhookReceiver => opened(startWebhookReceiver)

/** An account of a gateway that is opened before it, with a balance in USD and a key. */
export const testAccount = (stack: TestStack, ...account: Parameters<TestStack['account']>): TestAccount =>
  filled(() => stack.account(...account))

/** An operator of a gateway that is opened before it, by default one who may do everything. */
export const testOperator = (stack: TestStack, role?: OperatorRole): AdminClient =>
  filled(async () => adminClient(stack, await stack.adminKey(role)))

const opened = <T extends { close(): Promise<void> }>(open: () => Promise<T>): T =>
  filled(open, (resource) => resource.close())

/** What `open` makes before the tests; `close` ends it after them, and `timeoutMs` bounds the making. */
export function filled<T extends object>(
  open: () => Promise<T>,
  close?: (resource: T) => Promise<void>,
  timeoutMs?: number,
): T {
  const resource = {} as T
  beforeAll(async () => {
    Object.defineProperties(resource, Object.getOwnPropertyDescriptors(await open()))
    return () => close?.(resource)
  }, timeoutMs)
  return resource
}
