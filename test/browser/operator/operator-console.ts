import { CONSOLE_MODELS, testConsole } from '../console-stack.ts'

/** What operator.test.ts runs on, and no other file: one gateway, whose circuits open early and close again soon. */
export const { stack, browser } = testConsole({
  models: {
    ...CONSOLE_MODELS,
    'birch/recovers': [{ at: 'zeta', model: 'words-5.tag-operator.flaky-4-status-503' }],
    'birch/refused': [{ at: 'iota', model: 'status-401' }],
  },
  environment: {
    BREAKER_FAILURES: '2',
    BREAKER_COOLDOWN_MS: '1500',
    QUEUE_WAIT_MS: '60000',
    ALARMS_ALLOW_PRIVATE: 'true',
    // Never asked: the provider is needed by whoever leaves the page.
    OPERATOR_OIDC_ISSUER: 'https://id.company.test',
    OPERATOR_OIDC_CLIENT_ID: 'shuntyard',
    OPERATOR_OIDC_CLIENT_SECRET: 'a secret of the client',
    OPERATOR_OIDC_NAME: 'Yard ID',
  },
})
