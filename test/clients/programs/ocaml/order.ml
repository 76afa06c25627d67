open Lwt.Infix

let url = Uri.of_string (Sys.getenv "BASE_URL" ^ "/create_order")
let body = {|{"order_amount": 10.10, "order_currency": "EUR"}|}

let post number =
  let headers = [ ("Content-Type", "application/json"); (Sys.getenv "HEADER", "order-" ^ string_of_int number) ] in
  Cohttp_lwt_unix.Client.post ~headers:(Cohttp.Header.of_list headers) ~body:(`String body) url >>= fun (answer, body) ->
  Cohttp_lwt.Body.to_string body >|= fun _ ->
  string_of_int (Cohttp.Code.code_of_status (Cohttp.Response.status answer))

let no_answer error =
  prerr_endline (Printexc.to_string error);
  Lwt.return "no answer"

let () =
  for number = 1 to int_of_string (Sys.getenv "COUNT") do
    print_endline (Lwt_main.run (Lwt.catch (fun () -> post number) no_answer))
  done
