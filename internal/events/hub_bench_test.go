package events_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
)

// BenchmarkPublish measures a commit of four events on its way to subscribers in the same process, who all keep up.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{0, 1, 100, 1000} {
		b.Run(fmt.Sprint(n, " subscribers"), func(b *testing.B) {
			m := newMemory()
			bus := events.NewLocalBus()
			h := events.NewHub(events.Config{Log: m, Bus: bus})
			defer func() {
				h.Stop()
				_ = bus.Close()
			}()
			var round, readers sync.WaitGroup
			for range n {
				sub, err := h.Subscribe(context.Background(), m.key.Org, m.key.Session, events.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer sub.Close()
				readers.Go(func() {
					for {
						item, err := sub.Next(context.Background())
						if err != nil {
							return
						}
						if item.Event.Sequence%4 == 0 {
							round.Done()
						}
					}
				})
			}
			sequence := int64(0)
			b.ReportAllocs()
			for b.Loop() {
				list := make([]models.Event, 4)
				for i := range list {
					sequence++
					list[i] = models.Event{Sequence: sequence, Kind: models.EventFileWritten}
				}
				round.Add(n)
				h.Publish(m.key.Org, m.key.Session, list)
				round.Wait()
			}
			h.Stop()
			readers.Wait()
		})
	}
}
