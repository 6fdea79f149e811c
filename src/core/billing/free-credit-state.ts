/**
 * The state of the free credit of a new account. `unverified`: it waits for the verification of the address. `granted`:
 * it is in the ledger. The others are reasons against it: its mailbox had one before, its network reached the daily
 * limit, the gateway reached its hourly limit.
 */
export type FreeCreditState = 'unverified' | 'granted' | 'mailbox_used' | 'network_used' | 'budget_used'
