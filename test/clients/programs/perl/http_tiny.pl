use strict;
use warnings;
use HTTP::Tiny;
use Order;

my $client = HTTP::Tiny->new;
tell_orders(sub {
    my $answer = $client->post($url, { headers => {@_}, content => $body });
    die "$answer->{content}\n" if $answer->{status} == 599;
    return $answer->{status};
});
