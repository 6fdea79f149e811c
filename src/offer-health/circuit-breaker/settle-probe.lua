-- Ends the probe of a half-open breaker. Only the call that holds the probe may end it.
--
-- KEYS  1 probe  2 breakers (hash)  3 window (hash)
-- ARGV  1 id of the offer or provider  2 the holder's token  3 'close', 'reopen' or 'abandon'  4 the entry of a reopened breaker
--       5 channel
-- Returns 1 when this call held the probe, otherwise 0.
local probe, breakers, window = KEYS[1], KEYS[2], KEYS[3]
local offer, token, outcome, entry, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('GET', probe) ~= token then return 0 end
redis.call('DEL', probe)
if outcome == 'close' then
  redis.call('HDEL', breakers, offer)
  redis.call('DEL', window)
  redis.call('PUBLISH', channel, cjson.encode({ 'breaker', offer, '' }))
elseif outcome == 'reopen' then
  redis.call('HSET', breakers, offer, entry)
  redis.call('PUBLISH', channel, cjson.encode({ 'breaker', offer, entry }))
end
return 1
