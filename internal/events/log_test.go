package events_test

import (
	"fmt"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// seed makes an organization with a session whose log has n events.
func seed(t *testing.T, db *store.DB, n int) events.Key {
	t.Helper()
	org := models.Org{ID: models.NewID[models.OrgEntity](), Name: "o", CreatedAt: 1}
	org.Slug = org.ID.String()
	harness := models.Harness{OrgID: org.ID, ID: models.NewID[models.HarnessEntity](), Name: "h", Lifecycle: models.LifecycleActive, Capabilities: []models.CapabilityRef{}}
	session := models.Session{
		OrgID: org.ID, ID: models.NewID[models.SessionEntity](), HarnessID: harness.ID, Tags: []string{},
		CreatedByKind: models.ActorSystem, LastSequence: int64(n), Status: models.SessionStarted,
	}
	err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		for _, row := range []any{&org, &harness, &session} {
			if err := tx.Create(row).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	key := events.Key{Org: org.ID, Session: session.ID}
	insert(t, db, row(key, 1, n)...)
	return key
}

// row makes events that alternate between two kinds; those with an even sequence have a turn.
func row(key events.Key, from, to int) []models.Event {
	var list []models.Event
	for i := from; i <= to; i++ {
		e := models.Event{
			OrgID: key.Org, SessionID: key.Session, Sequence: int64(i), ID: models.NewID[models.EventEntity](),
			Kind: models.EventSessionActivated, Data: models.JSON(fmt.Sprintf(`{"b":1, "a":"é%d"}`, i)), OccurredAt: models.Millis(i),
		}
		if i%2 == 0 {
			e.Kind, e.TurnID = models.EventTurnStarted, new(models.NewID[models.TurnEntity]())
		}
		list = append(list, e)
	}
	return list
}

func insert(t *testing.T, db *store.DB, list ...models.Event) {
	t.Helper()
	if len(list) == 0 {
		return
	}
	if err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&list).Error }); err != nil {
		t.Fatal(err)
	}
}

func sequences(list []models.Event) []int64 {
	var s []int64
	for _, e := range list {
		s = append(s, e.Sequence)
	}
	return s
}

func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := events.NewLog(db)
		key, other := seed(t, db, 5), seed(t, db, 3)
		more := row(key, 6, 7)
		insert(t, db, more...)
		got, err := log.Read(t.Context(), key.Org, key.Session, 5, events.Limit{Events: 10, Bytes: 1 << 20})
		if err != nil || len(got) != 2 {
			t.Fatalf("got %v, %v", got, err)
		}
		for i, e := range got {
			want := more[i]
			if e.ID != want.ID || e.Kind != want.Kind || string(e.Data) != string(want.Data) || e.OccurredAt != want.OccurredAt ||
				e.OrgID != key.Org || e.SessionID != key.Session || (e.TurnID == nil) != (want.TurnID == nil) ||
				e.TurnID != nil && *e.TurnID != *want.TurnID {
				t.Errorf("got %+v, want %+v", e, want)
			}
		}
		if got, err := log.Read(t.Context(), other.Org, key.Session, 0, events.Limit{Events: 10, Bytes: 1 << 20}); err != nil || len(got) != 0 {
			t.Errorf("another organization reads %v, %v", got, err)
		}
	})
}

func TestPagesOfTheLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := events.NewLog(db)
		key := seed(t, db, 10)
		two, eight := int64(2), int64(8)
		tests := []struct {
			query events.PageQuery
			want  []int64
		}{
			{events.PageQuery{Limit: 3}, []int64{1, 2, 3}},
			{events.PageQuery{Limit: 3, Backward: true}, []int64{10, 9, 8}},
			{events.PageQuery{Limit: 2, After: &two}, []int64{3, 4}},
			{events.PageQuery{Limit: 2, Before: &eight, Backward: true}, []int64{7, 6}},
			{events.PageQuery{Limit: 9, After: &two, Before: &eight}, []int64{3, 4, 5, 6, 7}},
			{events.PageQuery{Limit: 9, Kinds: []models.EventKind{models.EventTurnStarted}}, []int64{2, 4, 6, 8, 10}},
			{events.PageQuery{Limit: 2, Kinds: []models.EventKind{models.EventTurnStarted, models.EventTurnFailed}, Before: &eight, Backward: true}, []int64{6, 4}},
			{events.PageQuery{Limit: 2, After: &eight, Before: &two}, nil},
		}
		for _, test := range tests {
			got, err := log.Page(t.Context(), key.Org, key.Session, test.query)
			if err != nil || !slices.Equal(sequences(got), test.want) {
				t.Errorf("%+v: got %v, %v", test.query, sequences(got), err)
			}
		}
	})
}

func TestLastSequencesOfManySessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := events.NewLog(db)
		one, two := seed(t, db, 4), seed(t, db, 2)
		err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return store.OneRow(store.Of(tx.Model(&models.Session{}), two.Org).Where("id = ?", two.Session).Update("status", models.SessionActive))
		})
		if err != nil {
			t.Fatal(err)
		}
		keys := []events.Key{one, two, {Org: one.Org, Session: two.Session}, {}}
		for range 5000 {
			keys = append(keys, events.Key{Org: one.Org, Session: models.NewID[models.SessionEntity]()})
		}
		got, err := log.LastSequences(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		want := map[events.Key]events.Position{one: {LastSequence: 4}, two: {LastSequence: 2, Active: true}}
		if len(got) != 2 || got[one] != want[one] || got[two] != want[two] {
			t.Fatalf("got %v", got)
		}
	})
}

func TestTheStateOfASession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := events.NewLog(db)
		key := seed(t, db, 4)
		st, ok, err := log.State(t.Context(), key)
		if err != nil || !ok || st != (events.State{Position: events.Position{LastSequence: 4}}) {
			t.Fatalf("at rest: %+v, %v, %v", st, ok, err)
		}
		if _, ok, err := log.State(t.Context(), events.Key{Org: models.NewID[models.OrgEntity](), Session: key.Session}); ok || err != nil {
			t.Fatalf("foreign: %v, %v", ok, err)
		}

		message := models.NewID[models.MessageEntity]()
		turn := models.Turn{
			OrgID: key.Org, ID: models.NewID[models.TurnEntity](), SessionID: key.Session, InputMessageID: message,
			Status: models.TurnRunning, Phase: models.PhaseReason, OutputMessageID: &message,
		}
		change := func(fn func(tx *gorm.DB) error) {
			t.Helper()
			if err := db.WriteAcross(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		change(func(tx *gorm.DB) error {
			if err := tx.Create(&turn).Error; err != nil {
				return err
			}
			return store.OneRow(store.Of(tx.Model(&models.Session{}), key.Org).Where("id = ?", key.Session).
				Updates(map[string]any{"status": models.SessionActive, "current_turn_id": turn.ID}))
		})
		st, _, err = log.State(t.Context(), key)
		if err != nil || !st.Active || st.TurnID != turn.ID || st.MessageID != message || st.Checkpoint != nil {
			t.Fatalf("without text: %+v, %v", st, err)
		}
		if c, err := log.Checkpoint(t.Context(), key.Org, turn.ID); c != nil || err != nil {
			t.Fatalf("no checkpoint: %+v, %v", c, err)
		}

		stored := models.Checkpoint{
			OrgID: key.Org, TurnID: turn.ID, SessionID: key.Session, MessageID: message, Epoch: 2, Attempt: 3, Text: "é", Thinking: "hm", UpdatedAt: 1,
		}
		change(func(tx *gorm.DB) error { return tx.Create(&stored).Error })
		st, _, err = log.State(t.Context(), key)
		if err != nil || st.Checkpoint == nil || st.Checkpoint.Text != "é" || st.Checkpoint.Epoch != 2 || st.Checkpoint.Attempt != 3 {
			t.Fatalf("with text: %+v, %v", st, err)
		}
		c, err := log.Checkpoint(t.Context(), key.Org, turn.ID)
		if err != nil || c.MessageID != message || c.Text != "é" || c.Thinking != "hm" || c.Epoch != 2 || c.Attempt != 3 {
			t.Fatalf("checkpoint: %+v, %v", c, err)
		}

		change(func(tx *gorm.DB) error {
			return store.OneRow(store.Of(tx.Model(&models.Turn{}), key.Org).Where("id = ?", turn.ID).Update("phase", models.PhaseAct))
		})
		if st, _, err = log.State(t.Context(), key); err != nil || !st.MessageID.IsZero() || st.Checkpoint != nil {
			t.Fatalf("after the output: %+v, %v", st, err)
		}
	})
}

// TestTwoProcessesOnOneDatabase takes the real parts together: the log, NATS and two hubs.
func TestTwoProcessesOnOneDatabase(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		key := seed(t, db, 700)
		server := startNATS(t, -1)
		log := events.NewLog(db)
		a, b := startHub(t, log, connect(t, server.ClientURL()), nil), startHub(t, log, connect(t, server.ClientURL()), nil)
		sub, err := b.Subscribe(t.Context(), key.Org, key.Session, events.Options{After: new(int64(0))})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		next := func() *events.Item {
			t.Helper()
			item, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return item
		}
		for n := int64(1); n <= 700; n++ {
			if got := next(); got.Event.Sequence != n {
				t.Fatalf("got %d, want %d", got.Event.Sequence, n)
			}
		}
		if got := next(); got.Event.Kind != models.EventCaughtUp {
			t.Fatalf("got %s", got.Event.Kind)
		}
		live := row(key, 701, 702)
		insert(t, db, live...)
		a.Publish(key.Org, key.Session, live[1:])
		for n := int64(701); n <= 702; n++ {
			if got := next(); got.Event.Sequence != n {
				t.Fatalf("got %d, want %d", got.Event.Sequence, n)
			}
		}
	})
}
