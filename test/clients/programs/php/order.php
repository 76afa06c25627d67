<?php
// What the programs beside this one share: they post each order of COUNT with a header of its own, and print its status.
$url = getenv('BASE_URL') . '/create_order';
$isSet = getenv('SET') !== '';
const ORDER = ['order_amount' => 10.10, 'order_currency' => 'EUR'];

function tell(callable $post): void
{
    for ($number = 1; $number <= (int) getenv('COUNT'); $number++) {
        try {
            echo $post(getenv('HEADER') . ": order-$number"), "\n";
        } catch (Throwable $error) {
            echo "no answer\n";
            fwrite(STDERR, $error->getMessage() . "\n");
        }
    }
}
