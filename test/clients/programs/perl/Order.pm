package Order;
# What the programs beside this one share: they post each order of COUNT with a header of its own, and print its status.
use strict;
use warnings;
use Exporter 'import';
use JSON::PP;
our @EXPORT = qw($url $body $is_set tell_orders);
our $url = "$ENV{BASE_URL}/create_order";
our $body = encode_json({ order_amount => 10.10, order_currency => 'EUR' });
our $is_set = $ENV{SET} ne '';
$| = 1;

sub tell_orders {
    my ($post) = @_;
    for my $number (1 .. $ENV{COUNT}) {
        my $status = eval { $post->('Content-Type' => 'application/json', $ENV{HEADER} => "order-$number") };
        print defined $status ? "$status\n" : "no answer\n";
        print STDERR $@ if $@;
    }
}
1;
