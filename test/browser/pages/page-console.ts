import { filled } from '../../helpers/resources.ts'
import { testConsole } from '../console-stack.ts'
import { testSampleAccount } from '../sample-account.ts'

/** What every-page.test.ts runs on, and no other file: one gateway, and a visitor and a holder of an account. */
export const { stack, browser } = testConsole()
export const { sample, opened: account } = testSampleAccount({ stack, browser })
export const guest = filled(() => browser.open(stack.url))
