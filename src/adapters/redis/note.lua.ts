import { conductInLua } from "./conduct.lua.ts";

/**
 * Adds one thing to the shared conduct.
 *
 * KEYS  1 conduct
 * ARGV  1 a Note (src/tokens/shared-conduct.ts) as JSON
 * Returns 1.
 */
export const noteLua = `${conductInLua}
local now = nowMs()
local note = cjson.decode(ARGV[1])
local conduct = readConduct(KEYS[1])
local name = (note.token or '') .. ' ' .. (note.site or '')
local known = conduct.tries[name]
if note.kind == 'login_paused' then
  local pause = note.pause
  conduct.login = { kind = pause.kind, status = pause.status, failures = pause.failures, atMs = now }
  conduct.login.untilMs = now + pause.remainingMs
elseif note.kind == 'tried' then
  if not known then conduct.tries[name] = { useless = false, atMs = now } end
elseif note.kind == 'cured' then
  if known and not known.useless then conduct.tries[name] = nil end
  conduct.sites[note.site] = nil
elseif note.kind == 'useless' and not (known and known.useless) then
  conduct.tries[name] = { useless = true, atMs = now }
  if note.pauseMs > 0 then conduct.sites[note.site] = { pauseMs = note.pauseMs, untilMs = now + note.pauseMs } end
end
writeConduct(KEYS[1], conduct, now)
return 1
`;
