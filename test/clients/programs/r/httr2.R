library(httr2)
order <- list(order_amount = 10.10, order_currency = "EUR")
for (number in seq_len(as.integer(Sys.getenv("COUNT")))) {
  request <- request(paste0(Sys.getenv("BASE_URL"), "/create_order"))
  request <- req_body_json(request, order)
  request <- do.call(req_headers, c(list(request), setNames(list(paste0("order-", number)), Sys.getenv("HEADER"))))
  request <- req_error(request, is_error = function(answer) FALSE)
  if (nzchar(Sys.getenv("SET"))) request <- req_options(request, followlocation = 0, forbid_reuse = 1)
  status <- tryCatch(resp_status(req_perform(request)), error = function(error) { message(conditionMessage(error)); "no answer" })
  cat(status, "\n", sep = "")
}
