use strict;
use warnings;
use Mojo::UserAgent;
use Order;

my $client = Mojo::UserAgent->new;
$client->proxy->detect;
tell_orders(sub { $client->post($url, {@_}, $body)->result->code });
