-- Counts a refusal of our key at an offer, and opens the provider's breaker when several offers refused it and none
-- accepted it recently.
--
-- KEYS  1 offers that refused it (set)  2 set while the provider accepts our key  3 breakers (hash)
-- ARGV  1 provider id  2 offer id  3 how long refusals count, ms  4 number of offers that proves a wrong key
--       5 the entry of an opened breaker  6 channel
-- Returns 1 when it opened the breaker, otherwise 0.
local refusals, taken, breakers = KEYS[1], KEYS[2], KEYS[3]
local provider, offer, remembered, enough = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local entry, channel = ARGV[5], ARGV[6]
if redis.call('EXISTS', taken) == 1 or redis.call('HEXISTS', breakers, provider) == 1 then return 0 end
redis.call('SADD', refusals, offer)
redis.call('PEXPIRE', refusals, remembered)
if redis.call('SCARD', refusals) < enough then return 0 end
redis.call('DEL', refusals)
redis.call('HSET', breakers, provider, entry)
redis.call('PUBLISH', channel, cjson.encode({ 'breaker', provider, entry }))
return 1
