#!/usr/bin/env escript
main(_) ->
    inets:start(),
    [tell(Number) || Number <- lists:seq(1, list_to_integer(os:getenv("COUNT")))].

tell(Number) ->
    Header = {os:getenv("HEADER"), "order-" ++ integer_to_list(Number)},
    Body = <<"{\"order_amount\": 10.10, \"order_currency\": \"EUR\"}">>,
    Request = {os:getenv("BASE_URL") ++ "/create_order", [Header], "application/json", Body},
    case httpc:request(post, Request, [{autoredirect, os:getenv("SET") == ""}], []) of
        {ok, {{_, Status, _}, _, _}} -> io:format("~w~n", [Status]);
        {error, Error} ->
            io:format("no answer~n"),
            io:format(standard_error, "~p~n", [Error])
    end.
