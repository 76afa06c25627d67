// The clients that are not in Go's library; the argument names one.
package main

import (
	"net/http"
	"orders/orders"
	"os"

	"github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/valyala/fasthttp"
)

func main() {
	switch os.Args[1] {
	case "resty":
		withResty()
	case "retryable":
		retryable()
	case "fasthttp":
		fast()
	}
}

func withResty() {
	client := resty.New()
	if orders.IsSet {
		client.SetRedirectPolicy(resty.NoRedirectPolicy())
	}
	orders.Tell(func(reference string) (int, error) {
		request := client.R().SetHeader("Content-Type", "application/json").SetHeader(orders.Header, reference)
		answer, err := request.SetBody(orders.Body).Post(orders.URL)
		return answer.StatusCode(), err
	})
}

func retryable() {
	client := retryablehttp.NewClient()
	client.Logger = nil
	client.RetryWaitMin, client.RetryWaitMax = 0, 0
	if orders.IsSet {
		client.RetryMax = 0
		client.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	orders.Tell(func(reference string) (int, error) {
		request, _ := retryablehttp.NewRequest("POST", orders.URL, orders.Body)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(orders.Header, reference)
		return orders.ReadAll(client.Do(request))
	})
}

func fast() {
	orders.Tell(func(reference string) (int, error) {
		request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		request.SetRequestURI(orders.URL)
		request.Header.SetMethod("POST")
		request.Header.SetContentType("application/json")
		request.Header.Set(orders.Header, reference)
		request.SetBody(orders.Body)
		err := fasthttp.Do(request, answer)
		return answer.StatusCode(), err
	})
}
