-- wrk: sends the requests of a job; prints the result as one line of JSON.
local keys, bodies, count = os.getenv("BENCH_KEYS"), os.getenv("BENCH_BODIES"), 0
wrk.method = os.getenv("BENCH_METHOD")
wrk.body = os.getenv("BENCH_BODY")
wrk.headers["Bench-Job"] = os.getenv("BENCH_JOB")
if wrk.method == "POST" then wrk.headers["Content-Type"] = "application/json" end

-- Requests that differ from each other. A request without a body, when all lines are used, fails.
if keys or bodies then
  local nextBody = bodies and io.lines(bodies)
  function request()
    count = count + 1
    if keys then wrk.headers["Countersign-Once"] = keys .. count end
    if bodies then wrk.body = nextBody() end
    return wrk.format()
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('\nRESULT {"requests":%d,"durationMs":%.1f,"failed":%d}\n', summary.requests,
    summary.duration / 1000, errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
