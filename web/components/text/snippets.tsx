import { useState } from 'react'
import { type Key, Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { AGENTS } from '../../../src/core/api/agent-settings.ts'
import { agentSetup } from '../../lib/agent-setups.ts'
import { gatewayAddress } from '../../lib/gateway-address.ts'
import { SNIPPET_LANGUAGES, snippet } from '../../lib/snippets.ts'
import { CodeLines, CopyButton } from './copy.tsx'

/** A first call in each language, against the gateway that this page comes from. */
export function Snippets({ apiKey, model = 'auto' }: { apiKey: string; model?: string }) {
  const facts = { origin: gatewayAddress(), apiKey, model }
  return (
    <TabbedCode codes={SNIPPET_LANGUAGES.map(({ id, name }) => ({ id, name, code: snippet(id, facts) }))} />
  )
}

/** How each command-line agent is pointed at this gateway. */
export const AgentSetups = ({ apiKey }: { apiKey: string }) => (
  <TabbedCode
    label="Agent"
    about="setup"
    codes={AGENTS.map(({ id, name, model }) => ({
      id,
      name,
      code: agentSetup(id, { origin: gatewayAddress(), apiKey, model }),
    }))}
  />
)

/** The same program in several languages. `about`: what else it is an example of. */
export function TabbedCode(props: {
  codes: ReadonlyArray<{ id: string; name: string; code: string }>
  label?: string
  about?: string
}) {
  const { codes, label = 'Language of the example', about = 'example' } = props
  const [selected, setSelected] = useState<Key>(codes[0]?.id ?? '')
  const shown = codes.find(({ id }) => id === selected)
  return (
    <Tabs className="code" selectedKey={selected} onSelectionChange={setSelected}>
      <div className="code-bar">
        <TabList className="flex min-w-0 flex-wrap" aria-label={label}>
          {codes.map(({ id, name }) => (
            <Tab key={id} id={id} className="tab">
              {name}
            </Tab>
          ))}
        </TabList>
        {shown && <CopyButton text={shown.code} of={`the ${shown.name} ${about}`} />}
      </div>
      {codes.map(({ id, code }) => (
        <TabPanel key={id} id={id} className="-outline-offset-3">
          <CodeLines code={code} />
        </TabPanel>
      ))}
    </Tabs>
  )
}
