import { longestTryList, tryMemoryMs } from "../../oauth/shared-limits.ts";

/** How long a site's pause is remembered after its end, so that the next one can be longer. */
const pauseMemoryMs = 900_000;

/** What happened lies in the past, but for a clock's corrections. */
export const aheadMs = 1_000;

/**
 * The shared conduct as a JSON document, its moments in ms of Redis's clock:
 * `{ login?: { kind, status?, failures, way?, atMs, untilMs }, sites: { S…: { pauseMs, untilMs } },
 *    tries: { "<token> <site>": { useless, cured?, accepted?, doubted?, atMs } } }`.
 * A damaged document reads as an empty one. What is over is dropped at each writing; the document ends with its last part.
 */
export const conductInLua = `
local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Redis or the network stood still between a command's sending and now; its sender has long given up.
local function isLate(now, expected)
  return expected ~= '' and now - tonumber(expected) > ${aheadMs}
end

local function isMoment(value)
  return type(value) == 'number' and value >= 0 and value < 1e14
end

local function isConduct(value)
  if type(value) ~= 'table' or type(value.sites) ~= 'table' or type(value.tries) ~= 'table' then return false end
  if value.login ~= nil then
    if type(value.login) ~= 'table' then return false end
    if not isMoment(value.login.untilMs) or not isMoment(value.login.atMs) then return false end
  end
  for _, pause in pairs(value.sites) do
    if type(pause) ~= 'table' or not isMoment(pause.untilMs) or not isMoment(pause.pauseMs) then return false end
  end
  for _, try in pairs(value.tries) do
    if type(try) ~= 'table' or not isMoment(try.atMs) then return false end
  end
  return true
end

-- What lies in the future was written by another clock: nobody knows when it ends.
local function dropFuture(conduct, now)
  local latest = now + ${aheadMs}
  if conduct.login and conduct.login.atMs > latest then conduct.login = nil end
  for site, pause in pairs(conduct.sites) do
    if pause.untilMs - pause.pauseMs > latest then conduct.sites[site] = nil end
  end
  for name, try in pairs(conduct.tries) do
    if try.atMs > latest then conduct.tries[name] = nil end
  end
  return conduct
end

local function readConduct(key, now)
  local text = redis.pcall('GET', key)
  if type(text) == 'string' then
    local ok, value = pcall(cjson.decode, text)
    if ok and isConduct(value) then return dropFuture(value, now) end
  end
  return { sites = {}, tries = {} }
end

local function dropOldest(tries)
  local count, oldest = 0, nil
  for name, try in pairs(tries) do
    count = count + 1
    if oldest == nil or try.atMs < tries[oldest].atMs then oldest = name end
  end
  if count > ${longestTryList} then tries[oldest] = nil end
end

local function writeConduct(key, conduct, now)
  local last = now
  local function keep(untilMs)
    if untilMs > last then last = untilMs end
    return untilMs > now
  end
  if conduct.login and not keep(conduct.login.untilMs) then conduct.login = nil end
  for site, pause in pairs(conduct.sites) do
    if not keep(pause.untilMs + ${pauseMemoryMs}) then conduct.sites[site] = nil end
  end
  for name, try in pairs(conduct.tries) do
    if not keep(try.atMs + ${tryMemoryMs}) then conduct.tries[name] = nil end
  end
  dropOldest(conduct.tries)
  if last > now then
    redis.call('SET', key, cjson.encode(conduct), 'PX', math.ceil(last - now))
  else
    redis.call('DEL', key)
  end
end
`;
