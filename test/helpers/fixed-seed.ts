import fc from 'fast-check'

/**
 * Property tests draw the same inputs in every run, so that a change is tested by what the last one was, and fails
 * for what it does itself; FUZZ_SEED=NUMBER looks further.
 */
fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 20_261_122) })
