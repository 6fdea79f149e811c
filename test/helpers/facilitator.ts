import { recoverTypedDataAddress } from 'viem'
import type { FacilitatorRequest } from '../../src/payments/x402/facilitator.ts'
import { startFakeRailServer } from './fake-rail-server.ts'

/** The token of the tests: USDC on Base Sepolia, as the official client knows it. */
export const TOKEN = {
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  name: 'USDC',
  version: '2',
} as const
const CHAIN_ID = 84_532

const TRANSFER_WITH_AUTHORIZATION = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

type AskedPayment = Pick<FacilitatorRequest, 'payload' | 'terms'>

/**
 * How a request to settle goes: answered; lost before anything is done; done, and its answer lost; done, and asked again
 * it says only that the nonce is used.
 */
type SettleMode = 'answers' | 'hangs' | 'hangs-once-paid' | 'forgets'

export type TestFacilitator = Awaited<ReturnType<typeof startTestFacilitator>>

/**
 * A facilitator without a chain: it recovers the signer of each EIP-712 authorization, and keeps the balances and used
 * nonces that the token's contract would.
 */
export async function startTestFacilitator(payTo: string) {
  const balances = new Map<string, bigint>()
  /** Transactions by authorization. */
  const transfers = new Map<string, string>()
  let mode: SettleMode = 'answers'
  const lower = (text: unknown) => String(text).toLowerCase()

  const check = async ({ payload, terms }: AskedPayment): Promise<string | null> => {
    const authorization = payload.payload.authorization as Record<string, string>
    const { from, to, value, validAfter, validBefore, nonce } = authorization as Record<string, `0x${string}`>
    const now = BigInt(Math.floor(Date.now() / 1000))
    const signer = await recoverTypedDataAddress({
      domain: {
        name: TOKEN.name,
        version: TOKEN.version,
        chainId: CHAIN_ID,
        verifyingContract: TOKEN.asset,
      },
      types: TRANSFER_WITH_AUTHORIZATION,
      primaryType: 'TransferWithAuthorization',
      message: {
        from: from!,
        to: to!,
        value: BigInt(value!),
        validAfter: BigInt(validAfter!),
        validBefore: BigInt(validBefore!),
        nonce: nonce!,
      },
      signature: payload.payload.signature as `0x${string}`,
    }).catch(() => null)
    if (lower(signer) !== lower(from)) return 'invalid_exact_evm_signature'
    if (lower(to) !== lower(terms.payTo)) return 'invalid_exact_evm_recipient_mismatch'
    if (BigInt(value!) !== BigInt(terms.amount))
      return 'invalid_exact_evm_payload_authorization_value_mismatch'
    if (BigInt(validBefore!) < now + 6n) return 'invalid_exact_evm_payload_authorization_valid_before'
    if (BigInt(validAfter!) > now) return 'invalid_exact_evm_payload_authorization_valid_after'
    if (transfers.has(`${lower(from)} ${lower(nonce)}`)) return 'invalid_exact_evm_nonce_already_used'
    return (balances.get(lower(from)) ?? 0n) < BigInt(value!)
      ? 'invalid_exact_evm_insufficient_balance'
      : null
  }

  const transfer = ({ payload }: AskedPayment): string => {
    const { from, value, nonce } = payload.payload.authorization as Record<string, string>
    const move = (owner: string, change: bigint) => balances.set(owner, (balances.get(owner) ?? 0n) + change)
    move(lower(from), -BigInt(value!))
    move(lower(payTo), BigInt(value!))
    const transaction = `0x${String(transfers.size + 1).padStart(64, '0')}`
    transfers.set(`${lower(from)} ${lower(nonce)}`, transaction)
    return transaction
  }

  const settle = async (request: AskedPayment) => {
    const { from, nonce } = request.payload.payload.authorization as Record<string, string>
    const before = mode === 'forgets' ? undefined : transfers.get(`${lower(from)} ${lower(nonce)}`)
    const { network } = request.terms
    if (mode === 'hangs') return null
    const refusal = before === undefined ? await check(request) : null
    if (refusal !== null)
      return { success: false, errorReason: refusal, transaction: '', network, payer: from }
    const transaction = before ?? transfer(request)
    return mode === 'answers' ? { success: true, transaction, network, payer: from } : null
  }

  const server = await startFakeRailServer(async ({ path, body }) => {
    const { paymentPayload, paymentRequirements } = JSON.parse(body)
    const request = { payload: paymentPayload, terms: paymentRequirements }
    if (path === '/verify') {
      const reason = await check(request)
      return { body: { isValid: reason === null, ...(reason !== null && { invalidReason: reason }) } }
    }
    const settled = await settle(request)
    return settled === null ? 'no answer' : { body: settled }
  })

  return {
    ...server,
    asked: (path: string) => server.requests.filter((request) => request.path === path).length,
    transfers,
    balance: (owner: string) => balances.get(lower(owner)) ?? 0n,
    fund: (owner: string, units: bigint) => void balances.set(lower(owner), units),
    settles(next: SettleMode) {
      mode = next
    },
  }
}
