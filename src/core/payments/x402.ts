import { type PicoUsd, picoUsd } from '../kernel/money.ts'
import type { CallPaymentSettings } from './x402-settings.ts'

/**
 * The rules of x402 payments for single calls: version 2 of the protocol, scheme `exact`, by EIP-3009 authorizations of a
 * dollar token with six decimals. https://github.com/x402-foundation/x402
 */

export const X402_VERSION = 2
const PICO_PER_ATOMIC_UNIT = 1_000_000n

/** The quote of a call: its bound in whole atomic units of the token (10⁻⁶ USD), rounded up, at least one. */
export function quotedUnits(boundPico: PicoUsd): bigint {
  const units = (boundPico + PICO_PER_ATOMIC_UNIT - 1n) / PICO_PER_ATOMIC_UNIT
  return units > 0n ? units : 1n
}

export const unitsToPico = (units: bigint): PicoUsd => picoUsd(units * PICO_PER_ATOMIC_UNIT)

/** Payment requirements, with the protocol's field names. */
export interface PaymentTerms {
  scheme: 'exact'
  network: `${string}:${string}`
  /** Atomic units. */
  amount: string
  asset: string
  payTo: string
  /** Required validity of the authorization. */
  maxTimeoutSeconds: number
  /** The token's EIP-712 domain. */
  extra: { name: string; version: string; assetTransferMethod: 'eip3009' }
}

export const paymentTerms = (
  { network, asset, payTo, assetName, assetVersion }: CallPaymentSettings,
  units: bigint,
  maxTimeoutSeconds: number,
): PaymentTerms => ({
  scheme: 'exact',
  network,
  amount: String(units),
  asset,
  payTo,
  maxTimeoutSeconds,
  extra: { name: assetName, version: assetVersion, assetTransferMethod: 'eip3009' },
})

/** A signed authorization, parsed and checked. Hexadecimal digits in lower case. */
export interface Authorization {
  payer: string
  nonce: string
  units: bigint
  /** Unix seconds. */
  validBefore: number
  /** In the facilitator's format. */
  signed: { signature: string; authorization: Record<(typeof FIELDS)[number], string> }
}

export type AuthorizationReading =
  | { kind: 'authorization'; authorization: Authorization }
  /** `reason` is the protocol's code, if it has one. */
  | { kind: 'refused'; reason: string }

/** The fields of the protocol's payment payload that are read. */
export interface SignedPayment {
  x402Version: number
  accepted: { scheme: string; network: string; asset: string; payTo: string; amount: string }
  payload: Record<string, unknown>
}

const ADDRESS = /^0x[0-9a-f]{40}$/
const NONCE = /^0x[0-9a-f]{64}$/
const SIGNATURE = /^0x(?:[0-9a-f]{2})+$/
/** Under 10,000 USD. */
const AMOUNT = /^[1-9]\d{0,9}$/
const SECONDS = /^\d{1,12}$/

/**
 * Parses a signed authorization and compares it with the terms: network, token, recipient, an amount of at least the
 * quote, and a time window from now until `neededUntil` (unix seconds). The facilitator verifies the signature.
 */
export function readAuthorization(
  { x402Version, accepted, payload }: SignedPayment,
  terms: PaymentTerms,
  now: number,
  neededUntil: number,
): AuthorizationReading {
  const refused = (reason: string): AuthorizationReading => ({ kind: 'refused', reason })
  if (x402Version !== X402_VERSION) return refused('invalid_x402_version')
  if (accepted.scheme !== terms.scheme) return refused('unsupported_scheme')
  if (accepted.network !== terms.network) return refused('invalid_network')
  if (!isSame(accepted.asset, terms.asset) || !isSame(accepted.payTo, terms.payTo))
    return refused('invalid_payment_requirements')
  const authorization = textsOf(payload.authorization)
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const signature = typeof payload.signature === 'string' ? payload.signature.toLowerCase() : ''
  const isWhole = ADDRESS.test(from) && NONCE.test(nonce) && AMOUNT.test(value) && SIGNATURE.test(signature)
  if (!isWhole || !SECONDS.test(validAfter) || !SECONDS.test(validBefore)) return refused('invalid_payload')
  if (!isSame(to, terms.payTo)) return refused('invalid_exact_evm_recipient_mismatch')
  const units = BigInt(value)
  // The facilitator settles the amount of the given terms, which must be the signed one.
  if (accepted.amount !== value || units < BigInt(terms.amount))
    return refused('invalid_exact_evm_payload_authorization_value')
  if (Number(validAfter) > now) return refused('invalid_exact_evm_payload_authorization_valid_after')
  if (Number(validBefore) < neededUntil)
    return refused('invalid_exact_evm_payload_authorization_valid_before')
  return {
    kind: 'authorization',
    authorization: {
      payer: from,
      nonce,
      units,
      validBefore: Number(validBefore),
      signed: { signature, authorization },
    },
  }
}

const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

const FIELDS = ['from', 'to', 'value', 'validAfter', 'validBefore', 'nonce'] as const

/** The fields of an authorization in lower case; empty if a field is not text. */
function textsOf(authorization: unknown): Record<(typeof FIELDS)[number], string> {
  const given = (authorization ?? {}) as Record<string, unknown>
  const texts = FIELDS.map((name) => [name, typeof given[name] === 'string' ? given[name].toLowerCase() : ''])
  return Object.fromEntries(texts)
}

/**
 * Refusals that the facilitator finds before it sends a transaction. If no earlier attempt was made to settle the
 * payment, they prove that nothing was paid.
 */
const NOTHING_SENT = new Set([
  'insufficient_funds',
  'invalid_exact_evm_insufficient_balance',
  'invalid_exact_evm_nonce_already_used',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_payload_signature',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_valid_after',
])

/** The facilitator's response to a settlement request. */
export type SettleResult =
  | { kind: 'settled'; transaction: string }
  | { kind: 'refused'; reason: string }
  /** No response, or one that proves nothing. */
  | { kind: 'unknown'; reason: string }

export type SettleVerdict =
  | { kind: 'settled'; transaction: string }
  | { kind: 'unpaid' | 'retry' | 'unproven'; reason: string }

/**
 * The meaning of a response for a payment. After an attempt without a response the transfer may have been made, so no
 * refusal proves that it was not: a used nonce or an empty wallet may be its effect.
 */
export function judgeSettlement(
  answer: SettleResult,
  { attempts, isExpired }: { attempts: number; isExpired: boolean },
): SettleVerdict {
  if (answer.kind === 'settled') return answer
  const { kind, reason } = answer
  if (kind === 'refused' && attempts === 1 && NOTHING_SENT.has(reason)) return { kind: 'unpaid', reason }
  return { kind: isExpired ? 'unproven' : 'retry', reason }
}
