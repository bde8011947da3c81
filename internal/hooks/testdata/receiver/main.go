package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// verify reports whether a body was signed by Ostler within the last five minutes. The body is what came, byte for byte.
func verify(secret, body []byte, header string, now time.Time) bool {
	t, signature, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	got, err := hex.DecodeString(signature)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(t + "." + string(body)))
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}

func main() {
	secret, err := base64.StdEncoding.DecodeString(os.Getenv("OSTLER_HOOK_SECRET"))
	if err != nil || len(secret) == 0 {
		log.Fatal("OSTLER_HOOK_SECRET must be the secret in base64")
	}
	listener, err := net.Listen("tcp", os.Getenv("ADDRESS"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil || !verify(secret, body, r.Header.Get("Ostler-Signature"), time.Now()) {
			http.Error(w, "the signature is wrong", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(string(body), "/workspace/private/") {
			_, _ = io.WriteString(w, `{"decision":"block","reason":"private files stay as they are"}`)
			return
		}
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	})))
}
