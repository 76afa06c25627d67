package main

import (
	"bytes"
	"net/http"
	"orders/orders"
)

func main() {
	orders.Tell(func(reference string) (int, error) {
		request, _ := http.NewRequest("POST", orders.URL, bytes.NewReader(orders.Body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(orders.Header, reference)
		return orders.ReadAll(http.DefaultClient.Do(request))
	})
}
