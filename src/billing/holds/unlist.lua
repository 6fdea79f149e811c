-- Takes an account off maintenance's list once its balance cache equals the ledger and it has no open hold, and lets the
-- balance cache expire: like one that Redis lost, it is loaded again with the account's next call.
--
-- KEYS  1 avail  2 held  3 holds  4 ver  5 listed accounts
-- ARGV  1 account id  2 ledger version that the balance cache was compared at, '' if there was none  3 ms until it expires
-- Returns 1; 0 if the account changed since
local avail, held, holds, ver, listed = unpack(KEYS)
if redis.call('HLEN', holds) > 0 or (redis.call('GET', held) or '0') ~= '0' then return 0 end
if (redis.call('GET', ver) or '') ~= ARGV[2] then return 0 end
for _, key in ipairs({ avail, held, ver }) do redis.call('PEXPIRE', key, ARGV[3]) end
return redis.call('SREM', listed, ARGV[1])
