// go-oauth2: go-oauth2 PORT LIFE_SECONDS.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/manage"
	"github.com/go-oauth2/oauth2/v4/models"
	"github.com/go-oauth2/oauth2/v4/server"
	"github.com/go-oauth2/oauth2/v4/store"
)

func main() {
	life, err := strconv.Atoi(os.Args[2])
	must(err)
	manager := manage.NewDefaultManager()
	manager.SetClientTokenCfg(&manage.Config{AccessTokenExp: time.Duration(life) * time.Second})
	manager.MustTokenStorage(store.NewMemoryTokenStore())
	clients := store.NewClientStore()
	must(clients.Set("countersign", &models.Client{ID: "countersign", Secret: os.Getenv("SECRET")}))
	manager.MapClientStorage(clients)
	tokens := server.NewDefaultServer(manager)
	tokens.SetClientInfoHandler(server.ClientBasicHandler)
	tokens.SetAllowedGrantType(oauth2.ClientCredentials)

	// Called for each token, while HandleTokenRequest returns nil for a refusal too.
	var issued atomic.Int64
	tokens.SetExtensionFieldsHandler(func(oauth2.TokenInfo) map[string]any {
		issued.Add(1)
		return nil
	})
	http.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = tokens.HandleTokenRequest(w, r)
	})
	http.HandleFunc("/issued", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"issued":%d}`, issued.Load())
	})
	http.HandleFunc("/guard", func(w http.ResponseWriter, r *http.Request) {
		if _, err := tokens.ValidationBearerToken(r); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	must(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
