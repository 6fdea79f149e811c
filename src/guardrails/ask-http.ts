import { isObject } from '../core/json/json-object.ts'
import { webhookHeaders } from '../webhooks/webhook-headers.ts'
import type { AskGuardrail, Verdict } from './adapter.ts'

const CODE = /^[\w.-]{1,64}$/
const MESSAGE_CHARS_MAX = 500

/** A service of its own: signed as webhooks are, it answers with what is to be done. */
export const askHttp: AskGuardrail = async (texts, { url, secret, point, call, post, nowMs }) => {
  const { id, callId, model, user, accountId, key } = call
  const body = JSON.stringify({ id, call_id: callId, point, model, account: accountId, key, user, texts })
  const headers = secret === null ? {} : webhookHeaders(`${id}.${point}`, body, [secret], nowMs)
  return readVerdict(JSON.parse(await post(url, body, headers)))
}

/** Throws for what is no verdict. */
function readVerdict(answer: unknown): Verdict {
  if (!isObject(answer)) throw new Error('the answer is no object')
  const { action, code, message, texts } = answer
  if (action === 'allow') return { action }
  if (action === 'replace') {
    if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string'))
      throw new Error('`texts` is no list of texts')
    return { action, texts: texts.map((text) => text.toWellFormed()) }
  }
  if (action !== 'deny') throw new Error('the answer has no known `action`')
  return {
    action,
    code: typeof code === 'string' && CODE.test(code) ? code : 'denied',
    message: typeof message === 'string' ? message.toWellFormed().slice(0, MESSAGE_CHARS_MAX) : '',
  }
}
