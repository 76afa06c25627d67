library(httr)
body <- '{"order_amount": 10.10, "order_currency": "EUR"}'
set <- if (nzchar(Sys.getenv("SET"))) config(followlocation = 0, forbid_reuse = 1) else config()
for (number in seq_len(as.integer(Sys.getenv("COUNT")))) {
  header <- setNames(paste0("order-", number), Sys.getenv("HEADER"))
  status <- tryCatch(
    status_code(POST(paste0(Sys.getenv("BASE_URL"), "/create_order"), set, content_type_json(), add_headers(header), body = body)),
    error = function(error) { message(conditionMessage(error)); "no answer" }
  )
  cat(status, "\n", sep = "")
}
