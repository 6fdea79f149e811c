-- Keeps what an offer was seen to add to prompts of some kinds of content, if it is more than is known.
--
-- KEYS  1 learned tokens (hash)
-- ARGV  1 subject  2 tokens  3 now, unix ms  4 the entry, `tokens:until`  5 channel
-- Returns 0 if as much was known, 1 if less was, 2 if nothing was.
local subject, tokens, now, entry, channel = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local known, until_ms = string.match(redis.call('HGET', KEYS[1], subject) or '', '^(%d+):(%d+)$')
local is_known = known ~= nil and tonumber(until_ms) > now
if is_known and tonumber(known) >= tokens then return 0 end
redis.call('HSET', KEYS[1], subject, entry)
redis.call('PUBLISH', channel, cjson.encode({ 'learned', subject, entry }))
return is_known and 1 or 2
