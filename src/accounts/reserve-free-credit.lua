-- Reserves the free credit of one new account: once its networks have some left for the day and the gateway has
-- some left for the hour, it is taken from all of them at once.
--
-- Amounts are 64-bit integers as text; DECRBY and INCRBY do the sums.
--
-- KEYS  1 left of the hour's budget  2… credits that each network has had today
-- ARGV  1 amount, pico-USD  2 the hour's budget, pico-USD  3 seconds to keep the first key  4 seconds to keep the
--       others  5… how many credits each network may have
-- Returns 'reserved', 'network_used' or 'budget_used'
for index = 2, #KEYS do
  local given = tonumber(redis.call('GET', KEYS[index]) or '0')
  if given >= tonumber(ARGV[index + 3]) then return 'network_used' end
end
redis.call('SET', KEYS[1], ARGV[2], 'NX', 'EX', ARGV[3])
if redis.call('DECRBY', KEYS[1], ARGV[1]) < 0 then
  redis.call('INCRBY', KEYS[1], ARGV[1])
  return 'budget_used'
end
for index = 2, #KEYS do
  redis.call('INCR', KEYS[index])
  redis.call('EXPIRE', KEYS[index], ARGV[4])
end
return 'reserved'
