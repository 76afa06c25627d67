<?php
require 'GuzzleHttp/autoload.php';
require __DIR__ . '/order.php';

$client = new GuzzleHttp\Client(['http_errors' => false]);
$set = $isSet ? ['allow_redirects' => false, 'curl' => [CURLOPT_FORBID_REUSE => true]] : [];
tell(function (string $header) use ($client, $url, $set): int {
    [$name, $value] = explode(': ', $header);
    return $client->post($url, ['json' => ORDER, 'headers' => [$name => $value]] + $set)->getStatusCode();
});
