-- wrk: POST the order of the benchmark; prints the result as one line of JSON.
wrk.method = "POST"
wrk.path = "/create_order"
wrk.body = os.getenv("BENCH_ORDER")
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Bench-Job"] = os.getenv("BENCH_JOB")

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('\nRESULT {"requests":%d,"durationMs":%.1f,"failed":%d}\n', summary.requests,
    summary.duration / 1000, errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
