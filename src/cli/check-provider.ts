import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PROVIDER_CHECK } from '../core/api/offers.ts'
import { type CatalogSnapshot, findModel, type Offer } from '../core/catalog/catalog.ts'
import { secretsIn } from '../core/catalog/provider-credentials.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import type { AuditedAction } from '../operators/audit-log.ts'
import { checkProvider, type FeatureFinding } from '../providers/check/check-provider.ts'
import { checkListedPrice } from '../providers/check/listed-price.ts'
import { type RecordedExchange, recordingTransport } from '../providers/check/recording-transport.ts'
import { createSign } from '../providers/credentials/create-sign.ts'
import { createProviderClients, createTransport } from '../providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../providers/wires.ts'
import type { CommandOutput } from './run-command.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** Long enough not to be a word of a request. */
const SECRET_CHARS_MIN = 6

interface CheckOptions {
  catalog: CatalogSnapshot
  /** Undefined: there is no platform key. */
  keyOf: (offer: Offer) => string | undefined
  provider: string
  /** A model's id; undefined: the cheapest chat of the provider. */
  model: string | undefined
  /** Where results are written, one file a day and provider, and beside it the exchanges that were not expected. */
  folder: string
  /** Records the result for the console. */
  record: (action: AuditedAction) => Promise<void>
}

/** `catalog check PROVIDER`: calls the provider with the operator's key, for at most a cent. */
export async function checkCommand(options: CheckOptions): Promise<CommandOutput> {
  const { catalog, keyOf, provider, folder } = options
  const { offer, model } = chosen(options)
  const key = keyOf(offer)
  const { apiKeyEnv } = offer.provider
  if (apiKeyEnv !== null && key === undefined)
    throw new Error(
      `There is no platform key for ${provider}: set ${apiKeyEnv}, or enter one in the console.`,
    )
  const exchanges: RecordedExchange[] = []
  const transport = createTransport({ connectTimeoutMs: CONNECT_TIMEOUT_MS })
  try {
    const clients = createProviderClients({
      wires: WIRE_MAPPINGS,
      sign: createSign(Date.now),
      transport: recordingTransport(transport, exchanges),
      ourKey: () => key ?? null,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      now: Date.now,
    })
    const { findings: probed, costPico } = await checkProvider(
      clients(offer.provider.wire),
      { offer, model },
      Date.now,
    )
    const findings = [...probed, await checkListedPrice(offer, key)]
    const checkedAt = new Date().toISOString()
    const result = {
      ...{ provider, model: model.id, checked_at: checkedAt, catalog: catalog.version },
      ...{ cost_usd: formatUsd(picoUsd(costPico)), findings },
    }
    const isWrong = ({ result: how }: FeatureFinding) => how === 'fails' || how === 'differs'
    const name = join(folder, `${provider}-${checkedAt.slice(0, 10)}`)
    await mkdir(folder, { recursive: true })
    await writeFile(`${name}.json`, `${JSON.stringify(result, null, 2)}\n`)
    const wrong = findings.filter(isWrong)
    const lines = exchanges.map((exchange) => JSON.stringify(redacted(exchange, secretsOf(key, offer))))
    if (wrong.length > 0) await writeFile(`${name}.jsonl`, `${lines.join('\n')}\n`)
    const details = { model: model.id, cost_usd: result.cost_usd, ...featuresByResult(findings) }
    const unrecorded = await options.record({ action: PROVIDER_CHECK, target: provider, details }).then(
      () => [],
      (error: Error) => [`The console does not show it: ${error.message}`],
    )
    return {
      data: { ...result, file: `${name}.json` },
      text: [
        `${provider}, ${model.id}, ${result.cost_usd} USD`,
        ...findings.map(
          ({ feature, result: how, found }) => `${how.padEnd(9)} ${feature.padEnd(20)} ${found}`,
        ),
        `Written to ${name}.json${wrong.length > 0 ? ', what was sent and received to the .jsonl beside it' : ''}.`,
        ...unrecorded,
      ].join('\n'),
      failed: findings.some(({ result: how }) => how === 'fails'),
    }
  } finally {
    await transport.close()
  }
}

/** The names of the features by how they were found, as the audit log and the console have them. */
function featuresByResult(findings: readonly FeatureFinding[]) {
  const of = (result: FeatureFinding['result']) =>
    findings.filter((finding) => finding.result === result).map(({ feature }) => feature)
  return { ok: of('ok'), differs: of('differs'), fails: of('fails'), left_out: of('left out') }
}

/** The offer of the model, or of the cheapest chat of the provider. */
function chosen({ catalog, provider, model: id }: CheckOptions) {
  const offers = [...catalog.models.values()]
    .filter(({ kind }) => kind === 'chat')
    .flatMap((model) => model.offers.map((offer) => ({ model, offer })))
    .filter(({ offer }) => offer.provider.id === provider)
  if (offers.length === 0)
    throw new Error(`The catalog has no chat model of a provider ${JSON.stringify(provider)}.`)
  const model = id === undefined ? null : findModel(catalog, id)
  const found =
    id === undefined
      ? offers.toSorted((one, other) => Number(one.offer.cost.completion - other.offer.cost.completion))[0]
      : offers.find((each) => each.model === model)
  if (!found) throw new Error(`${provider} has no offer of ${JSON.stringify(id)}.`)
  return found
}

const secretsOf = (key: string | undefined, { provider }: Offer): string[] =>
  key === undefined
    ? []
    : secretsIn(key, provider.credentials?.kind).filter((text) => text.length >= SECRET_CHARS_MIN)

/** Without the key and its parts, wherever the provider repeats them. */
function redacted(exchange: RecordedExchange, secrets: readonly string[]): RecordedExchange {
  const without = (text: string) => secrets.reduce((kept, secret) => kept.replaceAll(secret, 'KEY'), text)
  return { ...exchange, request: without(exchange.request), text: without(exchange.text) }
}
