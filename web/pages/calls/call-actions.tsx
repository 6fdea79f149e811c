import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Code, Play } from 'lucide-react'
import type { CallDetail } from '../../../src/core/api/calls.ts'
import { pricingQuery, promptLogQuery } from '../../api/queries.ts'
import { ActionButton } from '../../components/form/action-button.tsx'
import { copyText } from '../../components/text/copy.tsx'
import { curlOf, replayOf } from '../../lib/calls/call-replay.ts'
import { leaveDraft } from '../../lib/form-drafts.ts'
import { gatewayAddress } from '../../lib/gateway-address.ts'
import { findModel } from '../../lib/models/model-catalog.ts'
import { linkFragment, MESSAGE_DRAFT } from '../../lib/playground/playground-link.ts'

/** Sends a call again by other means. A logged request is read when one of them is chosen, not before. */
export function CallActions({ call, mayPlay }: { call: CallDetail; mayPlay: boolean }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const readLog = async () =>
    call.prompt_log_until ? client.fetchQuery({ ...promptLogQuery(call.id), gcTime: 0 }) : null
  const readKind = async () => findModel((await client.ensureQueryData(pricingQuery)).data, call.model)?.kind
  return (
    <>
      {mayPlay && (
        <ActionButton
          icon={Play}
          size="small"
          action={{
            send: async () => {
              const { settings, text } = replayOf(call.model, await readLog())
              if (text !== '') leaveDraft(MESSAGE_DRAFT, { text })
              await navigate({ to: '/playground', hash: linkFragment(settings, true).slice(1) })
            },
          }}
        >
          Replay in playground
        </ActionButton>
      )}
      <ActionButton
        icon={Code}
        size="small"
        action={{
          send: async () => {
            const [kind, log] = await Promise.all([readKind(), readLog()])
            return copyText(curlOf(call.model, kind, log, gatewayAddress()))
          },
          done: (isCopied) =>
            isCopied
              ? `Copied${call.prompt_log_until ? '' : ', with an example in place of the messages'}.`
              : 'The browser refused to copy.',
        }}
      >
        Copy as curl
      </ActionButton>
    </>
  )
}
