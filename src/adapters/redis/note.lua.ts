import { conductInLua } from "./shared-limits.lua.ts";

/**
 * Adds one thing to the shared conduct.
 *
 * KEYS  1 conduct
 * ARGV  1 a Note (src/oauth/shared-limits.ts) as JSON, 2 what TIME should say by the last reading, in ms, or ""
 * Returns 1; 0 when the command came too late to be true.
 */
export const noteLua = `${conductInLua}
local now = nowMs()
if isLate(now, ARGV[2]) then return 0 end
local note = cjson.decode(ARGV[1])
local conduct = readConduct(KEYS[1], now)
local name = (note.token or '') .. ' ' .. (note.site or '')
local known = conduct.tries[name]
if note.kind == 'login_paused' then
  local pause = note.pause
  local untilMs = math.ceil(now + pause.remainingMs)
  if not conduct.login or conduct.login.untilMs < untilMs then
    conduct.login =
      { kind = pause.kind, status = pause.status, failures = pause.failures, way = pause.way, atMs = now, untilMs = untilMs }
  end
elseif note.kind == 'tried' then
  if not known then conduct.tries[name] = { useless = false, doubted = note.isDoubted or nil, atMs = now } end
elseif note.kind == 'accepted' then
  if known then known.accepted = true end
  conduct.sites[note.site] = nil
elseif note.kind == 'cured' then
  conduct.tries[name] = { useless = false, cured = true, accepted = true, doubted = known and known.doubted, atMs = now }
  conduct.sites[note.site] = nil
elseif note.kind == 'useless' and not (known and (known.useless or known.cured)) then
  conduct.tries[name] = { useless = true, accepted = known and known.accepted, doubted = known and known.doubted, atMs = now }
  if note.pauseMs > 0 then conduct.sites[note.site] = { pauseMs = note.pauseMs, untilMs = now + note.pauseMs } end
end
writeConduct(KEYS[1], conduct, now)
return 1
`;
