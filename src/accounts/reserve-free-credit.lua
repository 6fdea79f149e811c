-- Reserves the free credit of one new account: if its networks have some left for the day and the gateway has
-- some left for the hour, it is subtracted from all of them at once.
--
-- Amounts are 64-bit integers as text; DECRBY and INCRBY do the arithmetic.
--
-- KEYS  1 rest of the hour's budget  2… number of credits of each network today
-- ARGV  1 amount, pico-USD  2 the hour's budget, pico-USD  3 lifetime of the first key, seconds  4 lifetime of the
--       others, seconds  5… maximum credits of each network
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
