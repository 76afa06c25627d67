use strict;
use warnings;
use LWP::UserAgent;
use Order;

my $client = LWP::UserAgent->new(keep_alive => 1, env_proxy => 1);
tell_orders(sub {
    my $answer = $client->post($url, @_, Content => $body);
    # A status that LWP made up.
    die $answer->status_line . "\n" if ($answer->header('Client-Warning') // '') eq 'Internal response';
    return $answer->code;
});
