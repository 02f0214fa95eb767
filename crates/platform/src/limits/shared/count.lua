-- Applies operations in their order, up to the first that is refused. KEYS: one of each operation. ARGV: kind, rate, size
-- and span of each. Returns status and wait in microseconds of each operation that was applied.
-- Status 0: allowed; 1: refused; 2: refused, and attempts that hold tokens are pending.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local result = {}

local function text(number) return string.format('%.17g', number) end

local function expire(key, seconds)
  redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(math.max(seconds, 0.001) * 1000)))
end

local function take(key, rate, size, span, reserves)
  local row = redis.call('HMGET', key, 'level', 'at', 'start', 'pending', 'until')
  local level, at, start = tonumber(row[1]), tonumber(row[2]), tonumber(row[3])
  local pending, pending_until = tonumber(row[4]) or 0, tonumber(row[5]) or 0
  if not level or not at or not start or (span > 0 and now - start >= span) then
    level, at, start = size, now, now
  end
  if now > pending_until then pending = 0 end
  level = math.min(level + math.max(now - at, 0) * rate, size)
  at = math.max(at, now)
  local status, wait = 0, 0
  if level >= 1 then
    level = level - 1
    if reserves then pending, pending_until = pending + 1, now + 30 end
  else
    status = (reserves and pending > 0) and 2 or 1
    wait = 86400
    if size >= 1 and rate > 0 then wait = math.min((1 - level) / rate, 86400) end
    if span > 0 then wait = math.min(wait, span - (now - start)) end
  end
  redis.call('HSET', key, 'level', text(level), 'at', text(at), 'start', text(start), 'pending', pending,
    'until', text(pending_until))
  if span > 0 then
    expire(key, start + span - now)
  elseif rate > 0 then
    expire(key, math.min((size - level) / rate, 2592000) + 60)
  else
    expire(key, 2592000)
  end
  return status, wait
end

local function take_of_window(key, size, span)
  local number = math.floor(now / span)
  local left = (number + 1) * span - now
  local row = redis.call('HMGET', key, 'level', 'start')
  local level = tonumber(row[1])
  if not level or tonumber(row[2]) < number then level = 0 end
  if level + 1 > size then return 1, size < 1 and 86400 or left end
  redis.call('HSET', key, 'level', text(level + 1), 'start', text(number))
  expire(key, left)
  return 0, 0
end

local function settle(key, size, is_returned)
  local row = redis.call('HMGET', key, 'level', 'pending')
  if not row[1] then return end
  if is_returned then redis.call('HSET', key, 'level', text(math.min(tonumber(row[1]) + 1, size))) end
  redis.call('HSET', key, 'pending', math.max((tonumber(row[2]) or 0) - 1, 0))
end

local function consume(key)
  local left = tonumber(redis.call('HGET', key, 'level'))
  if not left or left < 1 then return 1 end
  redis.call('HSET', key, 'level', text(left - 1))
  return 0
end

for i, key in ipairs(KEYS) do
  local kind = ARGV[4 * i - 3]
  local rate, size, span = tonumber(ARGV[4 * i - 2]), tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i])
  local status, wait = 0, 0
  if kind == 'take' or kind == 'reserve' then
    status, wait = take(key, rate, size, span, kind == 'reserve')
  elseif kind == 'window' then
    status, wait = take_of_window(key, size, span)
  elseif kind == 'grant' then
    redis.call('HSET', key, 'level', text(size))
    expire(key, span)
  elseif kind == 'consume' then
    status = consume(key)
  else
    settle(key, size, kind == 'refund')
  end
  result[#result + 1] = status
  result[#result + 1] = math.ceil(wait * 1000000)
  if status ~= 0 then break end
end
return result
