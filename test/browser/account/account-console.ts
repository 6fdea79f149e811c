import { startGithub } from '../../helpers/local-sign-in-services.ts'
import { filled } from '../../helpers/resources.ts'
import { CONSOLE_MODELS, testConsole } from '../console-stack.ts'
import { testSampleAccount } from '../sample-account.ts'

export const TRIES = 3

/** What account.test.ts runs on, and no other file: one gateway, and an account with something on each page. */
export const github = filled(startGithub, ({ close }) => close())
export const { stack, browser } = testConsole(() => ({
  models: {
    ...CONSOLE_MODELS,
    'birch/mirror': { offers: [{ at: 'beta', model: 'echo' }], name: 'Mirror', vendor: 'birch' },
    'birch/painter': {
      kind: 'image',
      unit: 'image',
      image_units: { '/64x64': 1, '/128x64': 2 },
      list_price: { prompt: '0', completion: '0', units: '10000' },
      rate: undefined,
      offers: [{ at: 'beta', model: 'tag-image', cost: '0' }],
      vendor: 'birch',
    },
  },
  environment: {
    SIGN_INS_PER_EMAIL: String(TRIES),
    ...github.environment,
  },
}))
export const { sample, opened } = testSampleAccount({ stack, browser })
