:- use_module(library(http/http_open)).
:- use_module(library(http/http_client)).
:- use_module(library(http/http_json)).
:- initialization(main, main).

main(_) :-
    getenv('COUNT', Text), atom_number(Text, Count),
    forall(between(1, Count, Number), tell_order(Number)).

tell_order(Number) :-
    catch(( post_order(Number, Status), format("~w~n", [Status]) ), Error,
          ( format("no answer~n"), print_message(error, Error) )).

post_order(Number, Status) :-
    getenv('BASE_URL', Base), atom_concat(Base, '/create_order', Url),
    getenv('HEADER', Header), atom_concat('order-', Number, Reference),
    ( getenv('SET', ''), !, Redirect = true ; Redirect = false ),
    http_open(Url, In, [ post(json(_{order_amount: 10.10, order_currency: "EUR"})), request_header(Header = Reference),
                         connection('Keep-Alive'), redirect(Redirect), status_code(Status) ]),
    call_cleanup(read_string(In, _, _), close(In)).
