/** How a call ended. */
export type CallStatus = 'completed' | 'failed' | 'cancelled' | 'interrupted'
