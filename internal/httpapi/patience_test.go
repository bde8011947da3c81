package httpapi

import (
	"context"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/graph/model"
)

// patience is how long a test waits for what must come: far longer than anything takes.
const patience = 20 * time.Second

// raw opens a connection without a client of HTTP.
func (b *bench) raw() *net.TCPConn {
	b.Helper()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		b.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// TestBodiesThatNeverCome are announced by people whom nobody knows. They must not hold connections.
func TestBodiesThatNeverCome(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.BodyTimeout = time.Millisecond })
	for _, head := range []string{
		"POST / HTTP/1.1\r\n", "POST /healthz HTTP/1.1\r\n", "PUT /graphql HTTP/1.1\r\n", "POST /v1/images HTTP/1.1\r\n", "DELETE /v1/images/x HTTP/1.1\r\n",
		"POST /graphql HTTP/1.1\r\nContent-Type: text/plain\r\n", "POST /graphql HTTP/1.1\r\nContent-Type: application/json\r\n",
		"GET /graphql?query=%7B__typename%7D HTTP/1.1\r\n", "GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nAccept: text/event-stream\r\n",
		"GET /assets/x HTTP/1.1\r\n",
	} {
		for _, body := range []string{"Content-Length: 10\r\n\r\n", "Content-Length: 10\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nab"} {
			conn := b.raw()
			_, _ = io.WriteString(conn, head+"Host: ostler.test\r\n"+body)
			if _, err := io.ReadAll(conn); os.IsTimeout(err) {
				t.Errorf("%q is still waited for", head+body)
			}
			_ = conn.Close()
		}
	}
}

// TestAnswersThatNobodyReads are larger than what the kernel takes, which isn't much. Their connections are cut off.
func TestAnswersThatNobodyReads(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "Accept: text/event-stream\r\n"} {
		b := setup(t, func(c *Config) { c.AnswerTimeout = 200 * time.Millisecond }) // megabytes are written in less
		b.stub.viewer = func(context.Context) (*model.Viewer, error) {
			return &model.Viewer{Org: &model.Org{ID: strings.Repeat("x", 32<<20)}}, nil
		}
		conn := b.raw()
		_, _ = io.WriteString(conn, "GET /graphql?query=%7Bviewer%7Borg%7Bid%7D%7D%7D HTTP/1.1\r\nHost: ostler.test\r\nAuthorization: Bearer good\r\n"+header+"\r\n")
		for !strings.Contains(b.log.String(), `"msg":"request"`) { // it has ended
			runtime.Gosched()
		}
		if got, _ := io.ReadAll(conn); len(got) > 1<<20 {
			t.Errorf("the kernel held %d bytes", len(got))
		}
	}
}
