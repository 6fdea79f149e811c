-- Updates one account's balance cache from the ledger and closes holds. Idempotent, and correct in any order.
--
-- A balance cache without `avail` is not loaded: Redis lost it, or never had it. Settlements and repairs do not load
-- it, and record the version that it must not be loaded below. Only admission loads it, once the holds of running
-- calls have been restored.
--
-- KEYS  1 record of the account  2 absent
-- ARGV  1 ledger balance  2 ledger version
--       3 '' or, to load the balance cache, '*' or the epoch it must still be: the data may be lost during a
--       load. Then per settled call: hold id, amount charged
-- Returns {avail or false, held}
local balance, version = ARGV[1], ARGV[2]

local ids, charges = {}, {}
for i = 4, #ARGV, 2 do
  ids[#ids + 1], charges[ARGV[i]] = ARGV[i], charges[ARGV[i]] or ARGV[i + 1]
end
local account = open_record(KEYS[1], { 'avail', 'ver', 'listed', unpack(ids) })
local fields = account.fields
local load = ARGV[3] == '*' or (ARGV[3] ~= '' and redis.call('GET', account.prefix .. 'loading') == ARGV[3])

local released = {}
for _, id in ipairs(ids) do
  -- The same call twice is one hold.
  local hold = fields[id]
  if hold then
    local amount, _, key, draws, _, bytes = parse_hold(hold)
    released[#released + 1] = amount
    return_allowances(account, key, draws, amount, charges[id])
    close_hold(account, id, amount, key, bytes)
  end
end
settle(account)

local known = tonumber(fields.ver or '-1')
local newer = tonumber(version) > known
local loaded = fields.avail
-- Where another process loaded it first, a newer balance arrives with the settlement that made it, which also closes its
-- hold; applied earlier, its charge would count twice for a moment.
if not (load and loaded) then
  if newer or load then list_account(account) end
  if newer then change(account, 'ver', version) end
  if (loaded and newer) or (not loaded and load and tonumber(version) >= known) then
    change(account, 'avail', minus(balance, fields.held or '0'))
  elseif loaded and #released > 0 then
    -- An older message that arrived late: its posting is already in the balance.
    change(account, 'avail', sum_of(loaded, released, 1))
  end
end
save(account)
return { fields.avail, fields.held or '0' }
