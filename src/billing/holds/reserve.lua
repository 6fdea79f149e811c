-- Holds money that will be taken back: as much as is available, so that running calls keep their holds.
-- A hold of the same id is left over from a failed attempt; it is released first.
--
-- If the balance cache is not loaded (no `avail`), the hold is taken from the ledger balance less the open holds,
-- and the process that loads the balance cache includes it.
--
-- KEYS  1 record of the account  2 absent
-- ARGV  1 hold id  2 amount wanted  3 hold lifetime ms  4 ledger balance
--       5 id prefix of the holds that this one replaces, or ''
-- Returns the amount held, as text; '0' when nothing is available
local id, wanted, lifetime, balance, replaced = unpack(ARGV)
local account = open_whole(KEYS[1])
local fields = account.fields
local is_loaded = fields.avail
local free = fields.avail or minus(balance, fields.held or '0')
local replaces = {}
for field, value in pairs(fields) do
  local is_replaced = field == id or (replaced ~= '' and string.sub(field, 1, #replaced) == replaced)
  if is_replaced and value and parse_hold(value) then replaces[#replaces + 1] = field end
end
for _, hold in ipairs(replaces) do
  local amount, _, key, _, _, bytes = parse_hold(fields[hold])
  free = plus(free, amount)
  close_hold(account, hold, amount, key, bytes)
end

local amount = string.sub(free, 1, 1) == '-' and '0' or exceeds(wanted, free) and free or wanted
if amount ~= '0' then
  local now = redis.call('TIME')[1] * 1000
  -- Belongs to no key and is taken from no budget.
  open_hold(account, id, now + lifetime, amount, '0', '', '', '')
end
if is_loaded then change(account, 'avail', minus(free, amount)) end
save(account)
return amount
