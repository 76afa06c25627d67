// Creates an order through Countersign, COUNT times over one connection. Prints the status and the outcome of each.
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

func main() {
	baseURL := cmp.Or(os.Getenv("BASE_URL"), "http://127.0.0.1:7411")
	count, err := strconv.Atoi(cmp.Or(os.Getenv("COUNT"), "1"))
	if err != nil {
		log.Fatal(err)
	}
	// Longer than Countersign's own 20 s, so that Countersign says how it ended.
	client := &http.Client{Timeout: 25 * time.Second}
	for range count {
		body := strings.NewReader(`{"order_amount": 10, "order_currency": "EUR"}`)
		// Go repeats a POST only when it has an Idempotency-Key header: leave that out.
		answer, err := client.Post(baseURL+"/create_order", "application/json", body)
		if err != nil {
			log.Fatal(err)
		}
		// The connection is kept only when the body was read to its end.
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		// "unknown": the order may exist. Look for it before you send it again.
		fmt.Println(answer.StatusCode, answer.Header.Get("Countersign-Outcome"))
	}
}
