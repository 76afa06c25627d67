module example.com/idempotency-key

go 1.22
