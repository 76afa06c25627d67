// zitadel/oidc, with the storage of its example server: zitadel-oidc PORT LIFE_SECONDS.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The example's storage, with the client `countersign` in place of its service user, and tokens with another life.
type ownStorage struct {
	*storage.Storage
	life   time.Duration
	ends   sync.Map // by the token's id
	issued atomic.Int64
}

func (s *ownStorage) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	if id != "countersign" || secret != os.Getenv("SECRET") {
		return nil, errors.New("wrong id or secret")
	}
	return s.Storage.ClientCredentials(ctx, "sid1", "verysecret")
}

func (s *ownStorage) ClientCredentialsTokenRequest(ctx context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return &oidc.JWTTokenRequest{Subject: id, Audience: []string{id}, Scopes: scopes}, nil
}

func (s *ownStorage) CreateAccessToken(ctx context.Context, request op.TokenRequest) (string, time.Time, error) {
	id, _, err := s.Storage.CreateAccessToken(ctx, request)
	end := time.Now().Add(s.life)
	s.ends.Store(id, end)
	s.issued.Add(1)
	return id, end, err
}

func (s *ownStorage) SetUserinfoFromToken(_ context.Context, _ *oidc.UserInfo, id, _, _ string) error {
	if end, ok := s.ends.Load(id); !ok || end.(time.Time).Before(time.Now()) {
		return errors.New("unknown or ended")
	}
	return nil
}

func main() {
	port, life := os.Args[1], os.Args[2]
	seconds, err := strconv.Atoi(life)
	must(err)
	issuer := "http://127.0.0.1:" + port
	tokens := &ownStorage{Storage: storage.NewStorage(storage.NewUserStore(issuer)), life: time.Duration(seconds) * time.Second}
	config := &op.Config{}
	_, err = rand.Read(config.CryptoKey[:])
	must(err)
	provider, err := op.NewProvider(config, tokens, op.StaticIssuer(issuer), op.WithAllowInsecure(),
		op.WithCustomTokenEndpoint(op.NewEndpoint("token")), op.WithCustomUserinfoEndpoint(op.NewEndpoint("guard")))
	must(err)
	http.Handle("/", provider)
	http.HandleFunc("/issued", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"issued":%d}`, tokens.issued.Load())
	})
	must(http.ListenAndServe("127.0.0.1:"+port, nil))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
