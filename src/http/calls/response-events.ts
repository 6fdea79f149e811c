import type { Annotation, Delta } from '../../core/calls/completion.ts'
import type { ResponseObject, StoredItem } from '../../core/calls/responses-items.ts'
import type { DeclaredTool } from '../../core/calls/responses-tools.ts'
import { callIdOfResponse } from '../../core/kernel/ids.ts'
import { wholeItem } from './hosted-item.ts'
import type { SealReasoning } from './reasoning-box.ts'
import { type OutputEvent, ResponseOutput } from './responses-output.ts'

/** The first events of a response, which it has before its output. */
export const BEGINNING = ['response.created', 'response.in_progress']

/** All events of a response that has ended, in order; their sequence numbers are their indexes. */
export function responseEvents(response: ResponseObject): OutputEvent[] {
  const begun = {
    ...response,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    output: [],
    usage: null,
  }
  const { status, output: items } = response
  const output = new ResponseOutput(callIdOfResponse(response.id), {
    declaredTools: new Map(
      items.flatMap((item) => ('call_id' in item ? [[item.id, toolOf(item)] as const] : [])),
    ),
    ...(items.some((item) => 'encrypted_content' in item)
      ? { sealReasoning: encryptedIn(items) }
      : { keepReasoning: () => '' }),
    // Its delta is what is encrypted already.
    ...(items.some(({ type }) => type === 'compaction') && { sealSummary: (text: string) => text }),
  })
  const written = items.flatMap((item, index) => deltasOf(item, index).flatMap((delta) => output.add(delta)))
  const isWhole = status === 'completed' || status === 'incomplete'
  return [
    ...BEGINNING.map((type): OutputEvent => [type, { response: begun }]),
    ...written,
    ...(isWhole ? output.close(status) : []),
    [`response.${isWhole ? status : 'failed'}`, { response }],
  ]
}

const textsOf = ({ content }: StoredItem) => content as ReadonlyArray<Record<string, unknown>>

const encryptedIn =
  (items: readonly StoredItem[]): SealReasoning =>
  ({ text }) => {
    const found = items.find((item) => item.type === 'reasoning' && (textsOf(item)[0]?.text ?? '') === text)
    return String(found?.encrypted_content)
  }

/** The deltas that make an item of an output. */
function deltasOf(item: StoredItem, index: number): Delta[] {
  switch (item.type) {
    case 'message':
      return textsOf(item).flatMap(({ text, refusal, annotations }): Delta[] =>
        text === undefined
          ? [['refusal', String(refusal ?? '')]]
          : [
              ['text', String(text)],
              ['annotations', (annotations ?? []) as Annotation[]],
            ],
      )
    case 'reasoning':
      // One without a text is only encrypted.
      return textsOf(item).length === 0
        ? [['signed', { maker: '', value: null }]]
        : textsOf(item).map(({ text = '' }) => ['reasoning', String(text)])
    case 'compaction':
      return [['text', String(item.encrypted_content)]]
    case 'function_call':
      return [callDelta(item, String(item.arguments))]
    case 'custom_tool_call':
      return [callDelta(item, JSON.stringify({ input: item.input }))]
    default:
      return wholeItem(item, index)
  }
}

const toolOf = ({ type, namespace, name }: StoredItem): DeclaredTool => ({
  ...(namespace !== undefined && { namespace: String(namespace) }),
  name: String(name),
  isCustom: type === 'custom_tool_call',
})

/** Ids of calls have their index, and here they are the names of the functions, which are not stored. */
const callDelta = ({ id, call_id: callId }: StoredItem, text: string): Delta => [
  'tool-calls',
  [
    {
      index: Number(/^fc_(\d+)_/.exec(id)?.[1]),
      id: String(callId),
      function: { name: id, arguments: text },
    },
  ],
]

export const eventText = ([type, fields]: OutputEvent, sequence: number): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`
