<?php
require __DIR__ . '/order.php';

$curl = curl_init($url);
tell(function (string $header) use ($curl): int {
    curl_setopt_array($curl, [
        CURLOPT_HTTPHEADER => ['Content-Type: application/json', $header],
        CURLOPT_POSTFIELDS => json_encode(ORDER),
        CURLOPT_RETURNTRANSFER => true,
    ]);
    if (curl_exec($curl) === false) throw new Exception(curl_error($curl));
    return curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
});
