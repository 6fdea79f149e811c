-- Reads one account's balance cache at one instant.
--
-- Lua numbers lose digits above 2^53, so the holds are summed in two halves of nine digits and the rest.
--
-- KEYS  1 avail  2 held  3 holds  4 ver
-- Returns {avail or false, held, ver or false, number of holds, sum of the holds: high half, low half}
local amounts = redis.call('HVALS', KEYS[3])
local high, low = 0, 0
for _, hold in ipairs(amounts) do
  local amount = parse_hold(hold)
  low = low + tonumber(string.sub(amount, -9))
  high = high + (tonumber(string.sub(amount, 1, -10)) or 0)
end
return {
  redis.call('GET', KEYS[1]),
  redis.call('GET', KEYS[2]) or '0',
  redis.call('GET', KEYS[4]),
  #amounts,
  string.format('%.0f', high),
  string.format('%.0f', low),
}
