import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { AGENTS, agentSetup } from '../../lib/agent-setups.ts'
import { gatewayAddress } from '../../lib/gateway-address.ts'
import { SNIPPET_LANGUAGES, type SnippetLanguage, snippet } from '../../lib/snippets.ts'
import { CodeBlock } from './copy.tsx'

/** A first call in each language, against the gateway that this page comes from. */
export function Snippets({ apiKey, model = 'auto' }: { apiKey: string; model?: string }) {
  const facts = { origin: gatewayAddress(), apiKey, model }
  return <CodeTabs codeOf={(language) => snippet(language, facts)} />
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

/** A program in each language. */
export const CodeTabs = ({ codeOf }: { codeOf: (language: SnippetLanguage) => string }) => (
  <TabbedCode codes={SNIPPET_LANGUAGES.map(({ id, name }) => ({ id, name, code: codeOf(id) }))} />
)

/** The same program in several languages. `about`: what else it is an example of. */
export const TabbedCode = (props: {
  codes: ReadonlyArray<{ id: string; name: string; code: string }>
  label?: string
  about?: string
}) => (
  <Tabs className="stack gap-2">
    <TabList className="flex flex-wrap gap-1" aria-label={props.label ?? 'Language of the example'}>
      {props.codes.map(({ id, name }) => (
        <Tab key={id} id={id} className="tab">
          {name}
        </Tab>
      ))}
    </TabList>
    {props.codes.map(({ id, name, code }) => (
      <TabPanel key={id} id={id} className="outline-none">
        <CodeBlock code={code} of={`the ${name} ${props.about ?? 'example'}`} />
      </TabPanel>
    ))}
  </Tabs>
)
