package commit

import (
	"context"
	"fmt"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// What a command costs, alone and in a batch of 256: a message to a session whose turn is at work, and a step of that turn.
// Run it with -benchmem; PostgreSQL's own time is not in it, but for the wait.
func BenchmarkCommit(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		for _, size := range []int{1, 8, 256} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				w := newWorld(b, open(b))
				var sends, steps []Command
				for range size {
					s, l := w.working()
					send, step := newMessage(), w.step(s, l)
					sends = append(sends, w.command(s, func(tx *Tx) error {
						send.id = models.NewID[models.MessageEntity]()
						return send.accept(tx)
					}))
					steps = append(steps, step)
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; i < b.N; i += 2 * size {
					for _, cmds := range [][]Command{sends, steps} {
						if size == 1 {
							if err := w.c.Submit(context.Background(), cmds[0]); err != nil {
								b.Fatal(err)
							}
							continue
						}
						must(b, batch(w.c, cmds...))
					}
				}
			})
		}
	}
}
