-- Reads one account's balance cache at one instant. Forgets the use of keys without calls in the last two minutes: an
-- account may have any number of them.
--
-- KEYS  1 record of the account  2 absent
-- Returns {avail or false, held, ver or false, number of holds, sum of the holds}
local account = open_whole(KEYS[1])
local amounts, fields = amounts_of(account), account.fields
local window
for field, value in pairs(fields) do
  local text, calls = parse_use(string.sub(field, 1, 4) == 'use:' and value or '- 1 0')
  if calls == 0 then
    window = window or math.floor(redis.call('TIME')[1] / 60)
    if (tonumber(string.match(text, '^%d+')) or 0) < window - 1 then change(account, field, false) end
  end
end
save(account)
return { fields.avail or false, fields.held or '0', fields.ver or false, #amounts, sum_of('0', amounts, 1) }
