<?php
// Creates orders through Countersign with the curl extension: COUNT of them, over one connection.
// With http_proxy set, set NO_PROXY=127.0.0.1 too: curl uses the proxy for loopback addresses as well.
$baseUrl = getenv('BASE_URL') ?: 'http://127.0.0.1:7411';
$count = (int) (getenv('COUNT') ?: 1);

/** The outcome of one order; null if no answer came. A reused handle keeps its connection. */
function createOrder(CurlHandle $curl, string $reference): ?string
{
    $body = json_encode(['order_amount' => 10, 'order_currency' => 'EUR']);
    curl_setopt_array($curl, [
        CURLOPT_HTTPHEADER => ['Content-Type: application/json', "Countersign-Reference: $reference", 'Expect:'],
        // As a stream. CURLOPT_POSTFIELDS would be sent again when a kept connection closes without an answer.
        CURLOPT_UPLOAD => true,
        CURLOPT_CUSTOMREQUEST => 'POST',
        CURLOPT_INFILESIZE => strlen($body),
        CURLOPT_READFUNCTION => function ($curl, $file, int $length) use (&$body): string {
            $chunk = substr($body, 0, $length);
            $body = substr($body, $length);
            return $chunk;
        },
        CURLOPT_TIMEOUT => 25, // longer than Countersign's own 20 s, so that Countersign says how it ended
        CURLOPT_FOLLOWLOCATION => false, // a redirect would send the order again
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$outcome): int {
            if (preg_match('/^countersign-outcome:\s*(\S+)/i', $line, $match)) $outcome = $match[1];
            return strlen($line);
        },
    ]);
    if (curl_exec($curl) === false) {
        fwrite(STDERR, "$reference: no answer: " . curl_error($curl) . "\n");
        return null;
    }
    echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), " $outcome\n";
    return $outcome;
}

$curl = curl_init("$baseUrl/create_order");
for ($number = 1; $number <= $count; $number++) {
    $reference = "order-$number"; // your own key for the order, by which you find it again
    $outcome = createOrder($curl, $reference);
    if ($outcome === 'answered') continue;
    if ($outcome === 'not_sent') {
        fwrite(STDERR, "$reference was not sent: it may be sent again\n");
        exit(75);
    }
    fwrite(STDERR, "$reference may exist: look for it before you send it again\n");
    exit(1);
}
