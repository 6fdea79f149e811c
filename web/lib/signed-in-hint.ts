import { readStored, writeStored } from './storage.ts'

const STORED_AS = 'shuntyard-signed-in'

/** Notes whether this browser has a session, for the frame of the next visit. */
export const noteSignedIn = (isSignedIn: boolean): void => writeStored(STORED_AS, isSignedIn ? 'yes' : null)

/** Whether this browser had a session when it was last asked for. It may have ended since. */
export const wasSignedIn = (): boolean => readStored(STORED_AS) !== null
