// Orders with an Idempotency-Key header: Go takes the header as permission to send them again.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
)

func main() {
	count, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		count = 1
	}
	for number := 1; number <= count; number++ {
		body := strings.NewReader(`{"order_amount": 10, "order_currency": "EUR"}`)
		request, err := http.NewRequest("POST", os.Getenv("BASE_URL")+"/create_order", body)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Countersign-Reference", fmt.Sprint("order-", number))
		request.Header.Set("Idempotency-Key", fmt.Sprint("order-", number))
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode, answer.Header.Get("Countersign-Outcome"))
	}
}
