package wire_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/wire"
	"github.com/ostler-dev/ostler/internal/models"
)

// TestOneImageManyTimes has a conversation that shows the same images again and again: each time counts, and the newest stay.
func TestOneImageManyTimes(t *testing.T) {
	t.Parallel()
	large, small, gone := models.NewID[models.ImageEntity](), models.NewID[models.ImageEntity](), models.NewID[models.ImageEntity]()
	sizes := map[models.ImageID]int{large: 12 << 20, small: 1 << 10}
	reads := 0
	req := &llm.Request{ReadImage: func(_ context.Context, id models.ImageID) (llm.Image, error) {
		if _, ok := sizes[id]; !ok {
			return llm.Image{}, fmt.Errorf("image %s: %w", id, fs.ErrNotExist)
		}
		reads++
		return llm.Image{MediaType: "image/png", Data: make([]byte, sizes[id])}, nil
	}}
	show := func(ids ...models.ImageID) {
		m := llm.Message{Role: models.MessageUser, Parts: []models.Part{{Type: models.PartText, Text: "look"}}}
		for _, id := range ids {
			m.Parts = append(m.Parts, models.Part{Type: models.PartImage, ImageID: &id, MediaType: "image/png"})
		}
		req.Messages = append(req.Messages, m)
	}
	for range 100 {
		show(small, large)
	}
	show(gone, large)
	show(large, small)

	bounded := wire.BoundImages(t.Context(), req)
	shown, size := "", 0
	for _, m := range bounded.Messages[len(bounded.Messages)-3:] {
		for _, p := range m.Parts[1:] {
			if p.Type == models.PartText {
				shown += p.Text
				continue
			}
			shown += "!"
		}
	}
	for _, m := range bounded.Messages {
		for _, p := range m.Parts {
			if p.Type != models.PartImage || *p.ImageID == gone {
				continue
			}
			img, err := bounded.ReadImage(t.Context(), *p.ImageID)
			if err != nil {
				t.Fatal(err)
			}
			size += len(img.Data)
		}
	}
	if want := wire.OneImageTooMany + wire.OneImageTooMany + "!!!!"; shown != want {
		t.Errorf("the newest messages show %s, want %s", shown, want)
	}
	if size > wire.MaxImages || reads != len(sizes) {
		t.Errorf("%d bytes after %d reads", size, reads)
	}
	for i, m := range req.Messages {
		for _, p := range m.Parts[1:] {
			if p.Type != models.PartImage {
				t.Fatalf("message %d of the conversation was changed", i)
			}
		}
	}
	if _, err := bounded.ReadImage(t.Context(), gone); err == nil {
		t.Error("an image that is gone was read")
	}
}
