-- Takes an account off maintenance's list once its balance cache equals the ledger and it has no open hold, and lets its
-- record expire: like one that Redis lost, it is loaded again with the account's next call.
--
-- KEYS  1 record of the account  2 listed accounts  3 absent
-- ARGV  1 account id  2 ledger version that the balance cache was compared at, '' if there was none  3 ms until it expires
-- Returns 1; 0 if the account changed since
local account = open_whole(KEYS[1])
local fields = account.fields
if #amounts_of(account) > 0 or (fields.held or '0') ~= '0' then return 0 end
if (fields.ver or '') ~= ARGV[2] then return 0 end
if fields.listed then
  change(account, 'listed', false)
  save(account)
end
redis.call('PEXPIRE', account.record, ARGV[3])
return redis.call('SREM', KEYS[2], ARGV[1])
