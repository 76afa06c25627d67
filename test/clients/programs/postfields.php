<?php
// The body as CURLOPT_POSTFIELDS, as most programs set it.
$curl = curl_init(getenv('BASE_URL') . '/create_order');
for ($number = 1; $number <= (int) (getenv('COUNT') ?: 1); $number++) {
    $outcome = '';
    curl_setopt_array($curl, [
        CURLOPT_HTTPHEADER => ['Content-Type: application/json', "Countersign-Reference: order-$number"],
        CURLOPT_POSTFIELDS => json_encode(['order_amount' => 10, 'order_currency' => 'EUR']),
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$outcome): int {
            if (preg_match('/^countersign-outcome:\s*(\S+)/i', $line, $match)) $outcome = $match[1];
            return strlen($line);
        },
    ]);
    if (curl_exec($curl) === false) exit(2);
    echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), " $outcome\n";
}
