package metrics

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

func read(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// The queue is looked at once in a while, however often and by however many the metrics are read.
func TestTheQueueIsLookedAtOnceInAWhile(t *testing.T) {
	t.Parallel()
	m := New("v")
	looks := 0
	var failure error
	busy, calm := models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity]()
	m.Watch(Sources{Backlog: func(context.Context) (Backlog, error) {
		looks++
		return Backlog{Waiting: map[models.OrgID]int{busy: 300, calm: 3}, Complete: true}, failure
	}})
	now := time.Unix(1_000, 0)
	m.classes.now = func() time.Time { return now }
	for range 5 {
		text := read(m)
		for _, want := range []string{
			"ostler_queue_depth{class=\"heavy\"} 300\n", "ostler_queue_depth{class=\"light\"} 3\n", "ostler_queue_depth{class=\"medium\"} 0\n",
			"ostler_queue_orgs{class=\"heavy\"} 1\n", "ostler_queue_depth_complete 1\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing", want)
			}
		}
	}
	if looks != 1 {
		t.Errorf("the queue was looked at %d times", looks)
	}
	// Who waits is in the class of the newest look, or of what runs.
	m.Waited(busy, 0, time.Second)
	m.Waited(calm, 6, time.Second)
	m.Waited(calm, 7, time.Second)
	text := read(m)
	for class, n := range map[string]string{"light": "1", "medium": "1", "heavy": "1"} {
		if want := "ostler_queue_wait_seconds_count{class=\"" + class + "\"} " + n + "\n"; !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	now, failure = now.Add(backlogAge), errors.New("the database is away")
	if text := read(m); strings.Contains(text, "ostler_queue_depth") {
		t.Error("a queue that can't be read has a depth")
	}
	if looks != 2 {
		t.Errorf("the queue was looked at %d times", looks)
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for load, want := range map[int]class{0: light, 9: light, 10: medium, 99: medium, 100: heavy, 100_000: heavy} {
		if got := classOf(load); got != want {
			t.Errorf("%d turns make an organization %s, want %s", load, got, want)
		}
	}
	for status, want := range map[int]string{0: "none", 101: "1xx", 204: "2xx", 404: "4xx", 599: "5xx", 999: "other"} {
		if got := statusClass(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}
