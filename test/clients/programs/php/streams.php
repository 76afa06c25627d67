<?php
require __DIR__ . '/order.php';

tell(function (string $header) use ($url, $isSet): int {
    $http = ['method' => 'POST', 'header' => ['Content-Type: application/json', $header], 'content' => json_encode(ORDER)];
    $set = $isSet ? ['follow_location' => 0] : [];
    $context = stream_context_create(['http' => ['ignore_errors' => true] + $set + $http]);
    if (@file_get_contents($url, false, $context) === false) throw new Exception(error_get_last()['message']);
    $statuses = preg_grep("~^HTTP/~", $http_response_header);
    return (int) explode(" ", end($statuses))[1];
});
