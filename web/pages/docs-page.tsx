import { Link } from '@tanstack/react-router'
import { Panel, SitePage } from '../components/layout/page.tsx'
import { Snippets } from '../components/text/snippets.tsx'
import { Facts } from '../components/text/values.tsx'
import { BASE_PATH } from '../lib/base-path.ts'
import { gatewayAddress } from '../lib/gateway-address.ts'

const ROUTING = {
  'model: "auto"':
    'Lets Switchyard choose a model by the difficulty of the prompt. routing_profile (eco, auto, premium, agentic) sets the preference.',
  'models: ["a", "b"]': 'Tried in order until one completes; you pay for that one.',
  ':nitro · :floor · :exacto': 'After a model ID: prefer throughput, prefer price, exact tool calls only.',
  'provider: {"zdr": true}': 'Only providers with zero data retention. Fails instead of routing elsewhere.',
  'provider: {"max_price": …}': 'Limits the rates, or with request the cost of the whole call.',
  'Idempotency-Key':
    'A header: a retry with the same key attaches to the running call or gets the same response, and is charged once.',
}

const ERRORS = {
  '400 · 422': 'The request is invalid; the message says why. Do not retry.',
  '401 · 403': 'The API key is missing, incorrect or revoked. Replace it.',
  '402 Payment Required': (
    <>
      The balance or the key's limit does not cover the call. <Link to="/billing">Top up</Link> or shorten it.
    </>
  ),
  '408 · 429': 'Wait as long as Retry-After says, then retry.',
  '5xx': 'All providers failed. Retry with backoff.',
}

/** How to call the gateway, on one page. */
export function DocsPage() {
  return (
    <SitePage
      title="Docs"
      description={
        <>
          OpenAI-compatible: set the base URL to <code>{gatewayAddress()}/v1</code> and keep your client
          library. Every operation is in the <Link to="/docs/api">API reference</Link>.
        </>
      }
    >
      <Panel title="1. A key and a call" padded>
        <p>
          <Link to="/sign-up">Create an account</Link>. Then <Link to="/keys">create an API key</Link> and
          keep it on a server.
        </p>
        <Snippets apiKey="sk-sy-…" />
      </Panel>
      <Panel title="2. Streaming" padded>
        <p>
          With <code>"stream": true</code> the completion arrives as <code>data:</code> lines and ends with{' '}
          <code>data: [DONE]</code>. A completion that ends without it is incomplete: the last line then has
          an <code>error</code>.
        </p>
      </Panel>
      <Panel title="3. Routing" padded>
        <Facts wide isCode rows={ROUTING} />
        <p id="auto" className="scroll-mt-20">
          <code>auto</code> scores the difficulty of the prompt, picks a class of models that can handle it at
          the lowest price, and answers with a healthy one of them. Which one is not disclosed.
        </p>
      </Panel>
      <Panel title="4. Errors" padded>
        <p>
          Every error has <code>error.message</code> for people, <code>error.code</code> for programs, and the{' '}
          <code>x-request-id</code> to report.
        </p>
        <Facts wide isCode rows={ERRORS} />
      </Panel>
      <Panel title="5. Prices" padded>
        <p>
          A call costs its tokens times the listed rates, exactly: nothing is rounded up. Failed calls that
          deliver nothing are free. The rates are on the <Link to="/models">models page</Link> and in{' '}
          <a href={`${BASE_PATH}/pricing.json`}>pricing.json</a>.
        </p>
      </Panel>
    </SitePage>
  )
}
