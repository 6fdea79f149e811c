-- Opens the breaker of an offer for an account's prompts of some kinds of content, and the one for all accounts once several
-- have theirs.
--
-- KEYS  1 breakers (hash)  2 accounts that have theirs (set)
-- ARGV  1 subject for all  2 subject for the account  3 account id  4 the entry of an opened breaker
--       5 how long accounts count, ms  6 number of accounts that opens it for all  7 channel
-- Returns 1 when it opened the account's, 2 when it opened the one for all.
local breakers, accounts = KEYS[1], KEYS[2]
local entry, channel = ARGV[4], ARGV[7]
local function open(subject)
  redis.call('HSET', breakers, subject, entry)
  redis.call('PUBLISH', channel, cjson.encode({ 'breaker', subject, entry }))
end
open(ARGV[2])
redis.call('SADD', accounts, ARGV[3])
redis.call('PEXPIRE', accounts, ARGV[5])
if redis.call('SCARD', accounts) < tonumber(ARGV[6]) then return 1 end
redis.call('DEL', accounts)
open(ARGV[1])
return 2
