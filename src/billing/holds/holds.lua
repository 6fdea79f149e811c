-- What Redis knows of an account: one hash, its record; this file is prepended to every script over it. Its fields:
--   held       sum of the open holds; always there
--   avail      what may still be spent: base(ver) − held; absent if it is not loaded
--   ver        the ledger version that `avail` was computed from, or that it must not be loaded below
--   listed     '1' while the account is in the set of maintenance's accounts
--   due        no place of an open call expires earlier, unix ms
--   use        the use of the account's limits, and use:<key id> of a key's: 'window:requests:tokens:last requests:
--              last tokens calls bytes', the counts of a sliding window (see admit.lua), the open calls and their heavy bodies
--   <hold id>  'amount:completion limit:key id:draws:deadline:bytes'; bytes of its body while the call is open, then ''
-- Only these functions, and `readHolds` in admission.ts, write or parse a hold.
--
-- Draws are the budgets that the hold was taken from, separated by commas: '<period>' of its key, '<member>@<period>' of
-- the member who created the key, '@<period>' of the account, '<group name>@<period>' of a group (see budget.ts). Each has its remaining amount, an allowance.
--
-- Amounts are 64-bit integers as text. Lua numbers lose digits above 2^53, so long ones are added in two parts.

local BILLION = 1e9
local MINUS = string.byte('-')

-- The billions of an amount, which may have a sign, and the rest.
local function parts_of(amount)
  if #amount < 10 then return 0, tonumber(amount) end
  local rest = tonumber(string.sub(amount, -9))
  return tonumber(string.sub(amount, 1, -10)) or 0, string.byte(amount) == MINUS and -rest or rest
end

-- The amount of such parts; the rest may exceed a billion, and may have another sign.
local function amount_of(high, low)
  local rest = low % BILLION
  high = high + (low - rest) / BILLION
  if high < 0 and rest > 0 then high, rest = high + 1, rest - BILLION end
  if high == 0 then return string.format('%d', rest) end
  return string.format('%d%09d', high, math.abs(rest))
end

-- An amount plus others; `times` is 1 or -1.
local function sum_of(amount, others, times)
  local high, low = parts_of(amount)
  for _, other in ipairs(others) do
    local more_high, more_low = parts_of(other)
    high, low = high + times * more_high, low + times * more_low
  end
  return amount_of(high, low)
end
-- Sums of up to so many digits are exact in Lua numbers.
local EXACT_DIGITS = 15
local function plus(amount, other)
  if #amount > EXACT_DIGITS or #other > EXACT_DIGITS then return sum_of(amount, { other }, 1) end
  return string.format('%d', amount + other)
end
local function minus(amount, other)
  if #amount > EXACT_DIGITS or #other > EXACT_DIGITS then return sum_of(amount, { other }, -1) end
  return string.format('%d', amount - other)
end

-- Whether one amount is greater than another; neither has a sign or leading zeros.
local function exceeds(one, other)
  return #one > #other or (#one == #other and one > other)
end

-- Returns amount, completion limit, key id, draws, deadline and bytes of an open body; nil for another field.
local function parse_hold(text)
  return string.match(text, '^(%d+):(%d+):([^:]*):([^:]*):(%d+):(%d*)$')
end

local function hold_text(amount, limit, key, draws, deadline, bytes)
  return amount .. ':' .. limit .. ':' .. key .. ':' .. draws .. ':' .. deadline .. ':' .. bytes
end

-- Returns the counts of the window as text, the open calls and their bytes.
local function parse_use(text)
  local window, calls, bytes = string.match(text or '', '^(%S*) (%d+) (%d+)$')
  return window or '', tonumber(calls) or 0, tonumber(bytes) or 0
end

local function use_text(window, calls, bytes)
  return string.format('%s %d %d', window, math.max(0, calls), math.max(0, bytes))
end

-- Replaces the several keys of an account that earlier versions wrote by its record. The record has the name of one of
-- them, a string, so a process of such a version fails before it changes anything.
local function convert(account)
  local record, tag, prefix = account.record, account.tag, account.prefix
  local function former(name) return prefix .. name end
  local avail, held, holds, expiry = former('avail'), former('held'), former('holds'), former('expiry')
  local has_version = redis.call('TYPE', record).ok == 'string'
  if not has_version and redis.call('EXISTS', avail, held, holds) == 0 then return end
  local fields = { 'held', redis.call('GET', held) or '0' }
  local function set(field, value)
    if value then fields[#fields + 1], fields[#fields + 2] = field, value end
  end
  set('avail', redis.call('GET', avail))
  local ttl = redis.call('PTTL', avail)
  if has_version then
    set('ver', redis.call('GET', record))
    ttl = math.max(ttl, redis.call('PTTL', record))
  end
  local is_listed = redis.call('SISMEMBER', tag .. 'accounts', account.id) == 1
  set('listed', is_listed and '1')
  local uses, due = {}, nil
  local found = redis.call('HGETALL', holds)
  for i = 1, #found, 2 do
    local id = found[i]
    local amount, limit, key, draws = string.match(found[i + 1], '^(%d+):(%d+):([^:]*):([^:]*)$')
    local deadline = string.format('%.0f', redis.call('ZSCORE', expiry, id) or 0)
    local bytes = ''
    if redis.call('ZSCORE', former('open'), id) then
      bytes = redis.call('HGET', former('bodies'), id) or '0'
      due = math.min(due or tonumber(deadline), tonumber(deadline))
      for _, use in ipairs({ 'use', 'use:' .. key }) do
        uses[use] = uses[use] or { 0, 0 }
        uses[use][1], uses[use][2] = uses[use][1] + 1, uses[use][2] + tonumber(bytes)
      end
    end
    if key ~= '' then
      for _, name in ipairs({ 'open', 'bodies', 'window' }) do redis.call('DEL', former('key:' .. key .. ':' .. name)) end
    end
    set(id, hold_text(amount, limit, key, draws, deadline, bytes))
  end
  for use, counts in pairs(uses) do set(use, use_text('', counts[1], counts[2])) end
  set('due', due and string.format('%.0f', due))
  redis.call('DEL', record, avail, held, holds, expiry, former('open'), former('bodies'), former('window'))
  for i = 1, #fields, 2 do redis.call('HSET', record, fields[i], fields[i + 1]) end
  if ttl > 0 and not is_listed then redis.call('PEXPIRE', record, ttl) end
end

-- Reads fields of a record, `held` first. Returns the account: its fields by name, and what is to be written.
local function open_record(record, fields)
  local tag, id = string.match(record, '^(.*:)([^:]+):ver$')
  local account = {
    record = record, tag = tag, id = id, prefix = tag .. id .. ':', fields = {}, changed = {}, sums = {}, uses = {},
  }
  local function read() return redis.pcall('HMGET', record, 'held', unpack(fields)) end
  local values = read()
  if values.err or not values[1] then
    convert(account)
    values = read()
  end
  if values.err then error(values.err) end
  account.fields.held = values[1]
  account.is_new = not values[1]
  for i, field in ipairs(fields) do account.fields[field] = values[i + 1] end
  return account
end

-- As open_record, with all fields.
local function open_whole(record)
  local account = open_record(record, {})
  local found = redis.call('HGETALL', record)
  for i = 1, #found, 2 do account.fields[found[i]] = found[i + 1] end
  return account
end

local function change(account, field, value)
  account.fields[field] = value
  account.changed[field] = value
end

-- Adds to an amount of a record; `times` is 1 or -1. Several are one sum, which `settle` makes the field.
local function add_to(account, field, amount, times)
  local sum = account.sums[field]
  if not sum then
    sum = { parts_of(account.fields[field] or '0') }
    account.sums[field] = sum
  end
  local high, low = parts_of(amount)
  sum[1], sum[2] = sum[1] + times * high, sum[2] + times * low
end

-- Puts the sums and the counts of places in the fields.
local function settle(account)
  for field, sum in pairs(account.sums) do change(account, field, amount_of(sum[1], sum[2])) end
  for use, counts in pairs(account.uses) do change(account, use, use_text(counts.window, counts.calls, counts.bytes)) end
  account.sums, account.uses = {}, {}
end

-- Lua accepts some thousands of arguments; even, since they are pairs.
local AT_ONCE = 1000

-- Writes what was changed.
local function save(account)
  settle(account)
  local fields, gone = {}, {}
  for field, value in pairs(account.changed) do
    if value then fields[#fields + 1], fields[#fields + 2] = field, value else gone[#gone + 1] = field end
  end
  for at = 1, #gone, AT_ONCE do
    redis.call('HDEL', account.record, unpack(gone, at, math.min(at + AT_ONCE - 1, #gone)))
  end
  if #fields == 0 then return end
  if account.is_new and not account.changed.held then fields[#fields + 1], fields[#fields + 2] = 'held', '0' end
  for at = 1, #fields, AT_ONCE do
    redis.call('HSET', account.record, unpack(fields, at, math.min(at + AT_ONCE - 1, #fields)))
  end
end

-- The amounts of all holds; all fields have been read.
local function amounts_of(account)
  local amounts = {}
  for _, value in pairs(account.fields) do amounts[#amounts + 1] = parse_hold(value or '') end
  return amounts
end

-- Lists the account for maintenance: its balance cache changed since it was compared with the ledger. The record of an
-- account that is not listed may expire (see unlist.lua), and that of a listed one may not.
local function list_account(account)
  if account.fields.listed then return end
  redis.call('SADD', account.tag .. 'accounts', account.id)
  redis.call('PERSIST', account.record)
  change(account, 'listed', '1')
end

-- Counts an open call of an account and its key, or one less.
local function count_place(account, key, calls, bytes)
  for _, use in ipairs({ 'use', 'use:' .. key }) do
    local counts = account.uses[use]
    if not counts then
      if account.fields[use] == nil then account.fields[use] = redis.call('HGET', account.record, use) end
      counts = {}
      counts.window, counts.calls, counts.bytes = parse_use(account.fields[use])
      account.uses[use] = counts
    end
    counts.calls, counts.bytes = counts.calls + calls, counts.bytes + bytes
  end
end

-- Opens a hold that does not exist, and lists its account; `bytes` is '' for one without a place among the open calls. The
-- caller counts its place.
local function open_hold(account, id, deadline, amount, limit, key, draws, bytes)
  list_account(account)
  settle(account)
  deadline = string.format('%d', deadline)
  change(account, 'held', plus(account.fields.held or '0', amount))
  change(account, id, hold_text(amount, limit, key, draws, deadline, bytes))
  if bytes == '' then return end
  if not account.fields.due or tonumber(deadline) < tonumber(account.fields.due) then change(account, 'due', deadline) end
end

-- Ends the place of a call among the open ones of its key and account.
local function end_place(account, id)
  local amount, limit, key, draws, deadline, bytes = parse_hold(account.fields[id])
  if bytes == '' then return end
  count_place(account, key, -1, -bytes)
  change(account, id, hold_text(amount, limit, key, draws, deadline, ''))
end

-- Closes a hold that exists, as it was parsed.
local function close_hold(account, id, amount, key, bytes)
  if bytes ~= '' then count_place(account, key, -1, -bytes) end
  add_to(account, 'held', amount, -1)
  change(account, id, false)
end

-- The allowance key of one draw of a hold; prefix: of the account's Redis keys.
local function allowance_of(prefix, key, draw)
  local at = string.find(draw, '@', 1, true)
  if not at then return prefix .. 'key:' .. key .. ':left:' .. draw end
  local holder, period = string.sub(draw, 1, at - 1), string.sub(draw, at + 1)
  if holder == '' then return prefix .. 'left:' .. period end
  local kind = string.find(holder, '.', 1, true) and 'group:' or 'member:'
  return prefix .. kind .. holder .. ':left:' .. period
end

-- Returns to the allowances of a hold what was held and not charged. An allowance that is not loaded stays unloaded.
local function return_allowances(account, key, draws, amount, charge)
  if draws == '' or amount == charge then return end
  local freed = minus(amount, charge)
  for draw in string.gmatch(draws, '[^,]+') do
    local left = allowance_of(account.prefix, key, draw)
    if redis.call('EXISTS', left) == 1 then redis.call('INCRBY', left, freed) end
  end
end

-- Ends a call: ends its place, and shrinks its hold to the charge. The rest can be spent at once; settlement closes the
-- hold. Idempotent, never raises a hold, and changes no amount if the hold is gone. Returns whether the hold shrank.
local function end_call(account, id, charge)
  local fields = account.fields
  if not fields[id] then return false end
  local amount, limit, key, draws, deadline, bytes = parse_hold(fields[id])
  local shrinks = exceeds(amount, charge)
  if bytes ~= '' then count_place(account, key, -1, -bytes) end
  if shrinks or bytes ~= '' then
    change(account, id, hold_text(shrinks and charge or amount, limit, key, draws, deadline, ''))
  end
  if not shrinks then return false end
  local freed = minus(amount, charge)
  add_to(account, 'held', freed, -1)
  if fields.avail then add_to(account, 'avail', freed, 1) end
  return_allowances(account, key, draws, amount, charge)
  return true
end
