import { type Fields, isObject } from '../json/json-object.ts'
import type { GuardedText } from './guardrail.ts'

/** The members of a body, on any wire, that say what the model is to read. */
const PROMPTS = ['system', 'instructions', 'messages', 'input', 'prompt', 'query', 'documents', 'prediction']

/** Names, addresses, media and what is sealed. */
const STRUCTURE = new Set(
  (
    'type role id call_id tool_call_id tool_use_id name status phase ttl format media_type detail url image_url file_url ' +
    'file_id file_data data signature encrypted_content'
  ).split(' '),
)

/**
 * The texts of a prompt in the body of a call, which are replaced in place: of every role, with the arguments and results
 * of tools. Signed reasoning is shown and stays as it is, since its maker would refuse it.
 */
export function promptTexts(body: object): GuardedText[] {
  const texts: GuardedText[] = []
  for (const name of PROMPTS) if (Object.hasOwn(body, name)) addTexts(body as Fields, name, false, texts)
  return texts
}

/** @param isData arguments of a tool, whose names mean nothing here */
function addTexts(holder: Fields, name: string, isData: boolean, texts: GuardedText[]): void {
  const value = holder[name]
  if (typeof value === 'string') {
    const isText = name === 'data' && holder.type === 'text'
    if (value === '' || (STRUCTURE.has(name) && !isData && !isText)) return
    const replace = (text: string) => {
      holder[name] = text
    }
    const isSigned = typeof holder.signature === 'string'
    texts.push({ text: value, ...(!isSigned && { replace }), isJson: name === 'arguments' })
  } else if (Array.isArray(value)) {
    for (const index of value.keys()) addTexts(value as unknown as Fields, String(index), isData, texts)
  } else if (isObject(value)) {
    const isTool = isData || (name === 'input' && typeof holder.type === 'string')
    for (const inner of Object.keys(value)) addTexts(value, inner, isTool, texts)
  }
}
