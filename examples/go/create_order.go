// Creates orders through Countersign with net/http: COUNT of them, over one connection.
package main

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var client = &http.Client{
	// Longer than Countersign's own 20 s, so that Countersign says how it ended.
	Timeout: 25 * time.Second,
	// A redirect would send the order again.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func createOrder(baseURL, reference string) (outcome string, err error) {
	body := strings.NewReader(`{"order_amount": 10, "order_currency": "EUR"}`)
	request, err := http.NewRequest("POST", baseURL+"/create_order", body)
	if err != nil {
		return "", err
	}
	// With an Idempotency-Key header Go would repeat the POST: leave that out.
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Countersign-Reference", reference)
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	// The connection is kept only when the body was read to its end.
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return "", err
	}
	fmt.Println(answer.StatusCode, answer.Header.Get("Countersign-Outcome"))
	return answer.Header.Get("Countersign-Outcome"), nil
}

func main() {
	log.SetFlags(0)
	// Go uses no proxy for loopback addresses. For other addresses set NO_PROXY.
	baseURL := cmp.Or(os.Getenv("BASE_URL"), "http://127.0.0.1:7411")
	count, err := strconv.Atoi(cmp.Or(os.Getenv("COUNT"), "1"))
	if err != nil {
		log.Fatal(err)
	}
	for number := 1; number <= count; number++ {
		reference := fmt.Sprint("order-", number) // your own key for the order, by which you find it again
		outcome, err := createOrder(baseURL, reference)
		if err != nil {
			log.Printf("%s: no answer: %v", reference, err)
		}
		switch outcome {
		case "answered":
		case "not_sent":
			log.Printf("%s was not sent: it may be sent again", reference)
			os.Exit(75)
		default:
			log.Fatalf("%s may exist: look for it before you send it again", reference)
		}
	}
}
