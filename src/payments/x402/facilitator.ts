import type { PaymentPayload, SettleResponse } from '@x402/core/types'
import type { PaymentTerms, SettleResult } from '../../core/payments/x402.ts'
import type { CallPaymentSettings } from '../../core/payments/x402-settings.ts'
import { causeOf } from '../../platform/observability/logger.ts'

/** A payment in the facilitator's format, stored until it is settled. */
export interface FacilitatorRequest {
  payload: PaymentPayload
  terms: PaymentTerms
  /** The address of the wallet, in lower case. */
  payer: string
}

export type VerifyResult =
  | { kind: 'valid' }
  | { kind: 'invalid'; reason: string }
  | { kind: 'unknown'; reason: string }

/** The service that verifies signatures and makes transfers on the chain. */
export interface Facilitator {
  verify(request: FacilitatorRequest): Promise<VerifyResult>
  settle(request: FacilitatorRequest): Promise<SettleResult>
}

/** Short, because a client waits for it before the first byte. */
const VERIFY_WAIT_MS = 5_000

/** The facilitator over HTTP, by the protocol's own client. */
export async function createFacilitator(
  { facilitatorUrl: url, facilitatorAuthorization }: CallPaymentSettings,
  settleWaitMs: number,
): Promise<Facilitator> {
  const { HTTPFacilitatorClient } = await import('@x402/core/http')
  const { VerifyError, SettleError } = await import('@x402/core/types')
  const headers: Record<string, string> = facilitatorAuthorization
    ? { Authorization: facilitatorAuthorization }
    : {}
  const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers })
  const verifier = new HTTPFacilitatorClient({ url, timeoutMs: VERIFY_WAIT_MS, createAuthHeaders })
  const settler = new HTTPFacilitatorClient({ url, timeoutMs: settleWaitMs, createAuthHeaders })
  return {
    async verify({ payload, terms }) {
      try {
        const { isValid, invalidReason } = await verifier.verify(payload, terms)
        return isValid ? { kind: 'valid' } : { kind: 'invalid', reason: wordOf(invalidReason) }
      } catch (error) {
        if (error instanceof VerifyError && error.statusCode < 500 && error.invalidReason !== undefined)
          return { kind: 'invalid', reason: wordOf(error.invalidReason) }
        return { kind: 'unknown', reason: causeOf(error) }
      }
    },

    async settle({ payload, terms, payer }) {
      try {
        return readSettlement(await settler.settle(payload, terms), terms, payer)
      } catch (error) {
        if (error instanceof SettleError && error.errorReason !== undefined)
          return { kind: 'refused', reason: wordOf(error.errorReason) }
        return { kind: 'unknown', reason: causeOf(error) }
      }
    },
  }
}

/** Its reasons are codes of the protocol; other text is not passed on. */
const wordOf = (reason: string | undefined): string =>
  reason !== undefined && /^[a-z0-9_]{1,100}$/.test(reason) ? reason : 'unexpected_error'

const TRANSACTION = /^0x[0-9a-f]{64}$/i

/** A settlement counts only if it names its transaction and matches the payment. */
function readSettlement(
  { success, transaction, errorReason, ...answer }: SettleResponse,
  { network, amount }: PaymentTerms,
  payer: string,
): SettleResult {
  if (!success) return { kind: 'refused', reason: wordOf(errorReason) }
  const isOurs =
    answer.network === network &&
    (answer.amount ?? amount) === amount &&
    (answer.payer ?? payer).toLowerCase() === payer
  if (isOurs && TRANSACTION.test(transaction)) return { kind: 'settled', transaction }
  return { kind: 'unknown', reason: 'the facilitator reported a settlement that does not match the payment' }
}
