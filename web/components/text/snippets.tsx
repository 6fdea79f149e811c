import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { gatewayAddress } from '../../lib/gateway-address.ts'
import { SNIPPET_LANGUAGES, type SnippetLanguage, snippet } from '../../lib/snippets.ts'
import { CodeBlock } from './copy.tsx'

/** A first call in each language, against the gateway that this page comes from. */
export function Snippets({ apiKey, model = 'auto' }: { apiKey: string; model?: string }) {
  const facts = { origin: gatewayAddress(), apiKey, model }
  return <CodeTabs codeOf={(language) => snippet(language, facts)} />
}

/** A program in each language. */
export function CodeTabs({ codeOf }: { codeOf: (language: SnippetLanguage) => string }) {
  return (
    <Tabs className="stack gap-2">
      <TabList className="flex gap-1" aria-label="Language of the example">
        {SNIPPET_LANGUAGES.map(({ id, name }) => (
          <Tab key={id} id={id} className="tab">
            {name}
          </Tab>
        ))}
      </TabList>
      {SNIPPET_LANGUAGES.map(({ id, name }) => (
        <TabPanel key={id} id={id}>
          <CodeBlock code={codeOf(id)} of={`the ${name} example`} />
        </TabPanel>
      ))}
    </Tabs>
  )
}
