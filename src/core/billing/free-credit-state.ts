/**
 * What became of the free credit of an account that signed up. `unverified`: it waits for the address to be
 * verified. `granted`: it is in the ledger. The others are why there is none: its mailbox had one before, its network
 * had enough for the day, the gateway gave enough away in that hour.
 */
export type FreeCreditState = 'unverified' | 'granted' | 'mailbox_used' | 'network_used' | 'budget_used'
