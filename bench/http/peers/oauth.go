// httputil.ReverseProxy with golang.org/x/oauth2. Usage: oauth PORT SERVICE_PORT AUTH_PORT
package main

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

func main() {
	runtime.GOMAXPROCS(1)
	target, _ := url.Parse("http://127.0.0.1:" + os.Args[2])
	config := clientcredentials.Config{ClientID: "c", ClientSecret: "s", TokenURL: "http://127.0.0.1:" + os.Args[3] + "/oauth/token"}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Bench-Job", "oauth")
		},
		Transport: &oauth2.Transport{
			Source: config.TokenSource(context.Background()),
			Base:   &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		},
	}
	http.ListenAndServe("127.0.0.1:"+os.Args[1], proxy)
}
