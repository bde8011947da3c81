package main

import (
	"crypto/hmac"
	"crypto/sha256"
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

// verify reports whether a body was signed by Ostler within the last five minutes. The body is what came, byte for byte. For a day after the
// secret was changed there are two signatures: one of them must be right.
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

// answer is what became of a payment. It is the same each time that it is asked for.
type answer struct {
	Status    string `json:"status"`
	Reference string `json:"reference,omitempty"`
	Amount    string `json:"amount,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

func main() {
	secret := []byte(os.Getenv("OSTLER_PAYMENT_SECRET"))
	if len(secret) == 0 {
		log.Fatal("OSTLER_PAYMENT_SECRET must be the secret of the policy")
	}
	listener, err := net.Listen("tcp", os.Getenv("ADDRESS"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	var mu sync.Mutex
	made := map[string]answer{} // yours is in a database, and written in the transaction that pays
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !verify(secret, body, r.Header.Get("Ostler-Signature"), time.Now()) {
			http.Error(w, "the signature is wrong", http.StatusUnauthorized)
			return
		}
		var order struct{ ID, Host, Amount, Currency string }
		if err := json.Unmarshal(body, &order); err != nil || order.ID == "" || order.ID != r.Header.Get("Idempotency-Key") {
			http.Error(w, "this is no payment", http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		a, again := made[order.ID]
		if !again {
			a = answer{Status: "paid", Reference: fmt.Sprint("local-", len(made)+1), Amount: order.Amount}
			if order.Currency != "usd" {
				a = answer{Status: "refused", Reason: "only usd can be paid"}
			}
			made[order.ID] = a
			fmt.Println(a.Status, order.Amount, order.Host)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a)
	})))
}
