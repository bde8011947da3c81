package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// verify reports whether a body was signed by Ostler within the last five minutes. The body is what came, byte for byte. For a day after a
// rotation there are two signatures: one of them must be right.
func verify(secret, body []byte, header string, now time.Time) bool {
	parts := strings.Split(header, ",")
	t := strings.TrimPrefix(parts[0], "t=")
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(t + "." + string(body)))
	want := mac.Sum(nil)
	for _, part := range parts[1:] {
		got, err := hex.DecodeString(strings.TrimPrefix(part, "v1="))
		if err == nil && hmac.Equal(got, want) {
			return true
		}
	}
	return false
}

func main() {
	secret, err := base64.StdEncoding.DecodeString(os.Getenv("OSTLER_WEBHOOK_SECRET"))
	if err != nil || len(secret) == 0 {
		log.Fatal("OSTLER_WEBHOOK_SECRET must be the secret in base64")
	}
	listener, err := net.Listen("tcp", os.Getenv("ADDRESS"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	var seen sync.Map // yours is in a database
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
		if err != nil || !verify(secret, body, r.Header.Get("Ostler-Signature"), time.Now()) {
			http.Error(w, "the signature is wrong", http.StatusUnauthorized)
			return
		}
		var event struct{ ID, Kind, SessionID string }
		if err := json.Unmarshal(body, &event); err != nil {
			http.Error(w, "this is not JSON", http.StatusBadRequest)
			return
		}
		if _, again := seen.LoadOrStore(event.ID, true); !again {
			fmt.Println(event.Kind, event.SessionID)
		}
		w.WriteHeader(http.StatusNoContent)
	})))
}
