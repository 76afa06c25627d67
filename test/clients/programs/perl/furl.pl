use strict;
use warnings;
use Furl;
use Order;

my $client = Furl->new($is_set ? (max_redirects => 0) : ());
$client->env_proxy;
tell_orders(sub {
    my $answer = $client->post($url, [@_], $body);
    die $answer->content if $answer->header('X-Internal-Response');
    return $answer->code;
});
