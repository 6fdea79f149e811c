/** The load generator's own process: takes one scenario after another from its parent and answers each. */
import { generateLoad } from './load-generator.ts'
import type { Scenario } from './load-scenario.ts'

process.title = 'shuntyard-load'
process.on('message', (scenario: Scenario) => {
  generateLoad(scenario).then(
    (result) => process.send?.({ result }),
    (error: Error) => process.send?.({ error: error.stack ?? error.message }),
  )
})
