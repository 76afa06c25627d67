// Package orders is what the programs share: they post each order of COUNT with a header of its own, and print its status.
package orders

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
)

var (
	URL    = os.Getenv("BASE_URL") + "/create_order"
	Header = os.Getenv("HEADER")
	IsSet  = os.Getenv("SET") != ""
	Body   = []byte(`{"order_amount": 10.10, "order_currency": "EUR"}`)
)

// Tell posts each order with its own value of the header, and prints the status.
func Tell(post func(reference string) (status int, err error)) {
	count, _ := strconv.Atoi(os.Getenv("COUNT"))
	for number := 1; number <= count; number++ {
		if status, err := post(fmt.Sprint("order-", number)); err != nil {
			fmt.Println("no answer")
			fmt.Fprintln(os.Stderr, err)
		} else {
			fmt.Println(status)
		}
	}
}

// ReadAll reads an answer to its end.
func ReadAll(answer *http.Response, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}
