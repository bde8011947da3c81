package httpapi

import (
	"os"
	"runtime"
	"testing"
)

// TestBrokenHandshakesLeakNothing is not parallel: it counts what the whole process holds.
func TestBrokenHandshakesLeakNothing(t *testing.T) {
	b := setup(t)
	descriptors := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal("the descriptors of a process can't be counted here:", err)
		}
		return len(entries)
	}
	ways := []func(){
		func() { b.broken(init1[:30], 0) },                                    // the JSON ends in the middle
		func() { b.broken(`{"type":"connection_init","payload":"x"}`, 4400) }, // gqlgen's own transport leaks this one
		func() { b.broken(`{"type":"connection_init","payload":[]}`, 4400) },
		func() { b.broken(`{"type":"connection_init"}`, 4403) },
		func() { b.broken(subscribeFrame, 4401) },
		func() { b.broken(`{"type":"connection_init"}`, 0) },                            // gone before the answer
		func() { b.broken("", 0) },                                                      // gone without a word
		func() { b.halfHandshake("GET /graphql HTTP/1.1\r\nHost: ostler.test\r\nUpg") }, // gone within the headers
		func() { b.tryDial([]string{subprotocol}, origin("http://evil.test")) },         // refused
		func() { c, _ := b.tryDial([]string{"graphql-ws"}); c.expectClose(4406) },
	}
	for _, way := range ways {
		way() // what is only made once is there
	}
	for len(b.server.open.all()) > 0 {
		runtime.Gosched()
	}
	goroutines, files := runtime.NumGoroutine(), descriptors()
	for i := range 10_000 {
		ways[i%len(ways)]()
	}
	// A connection that waits for its next request may be there once more or once less.
	const slack = 8
	for len(b.server.open.all()) > 0 || runtime.NumGoroutine() > goroutines+slack { // the last ones are about to end
		runtime.Gosched()
	}
	if after := descriptors(); after > files+slack {
		t.Errorf("%d descriptors before, %d after 10 000 broken handshakes", files, after)
	}
}
