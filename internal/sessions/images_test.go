package sessions

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io/fs"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

// picture makes an image of a format.
func picture(t *testing.T, format string, width, height int) []byte {
	t.Helper()
	m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	var err error
	switch format {
	case "image/png":
		err = png.Encode(&b, m)
	case "image/jpeg":
		err = jpeg.Encode(&b, m, nil)
	case "image/gif":
		err = gif.Encode(&b, m, nil)
	case "image/webp":
		// The head of an extended file: a canvas, and no pixels behind it.
		b.WriteString("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00")
		for _, n := range []int{width - 1, height - 1} {
			b.Write([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bomb is a PNG of a few bytes that says it is larger than it is.
func bomb(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	head = append(binary.BigEndian.AppendUint32(head, height), 8, 2, 0, 0, 0)
	file := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(head))
}

func (e *env) image(content []byte) *models.Image {
	e.t.Helper()
	m, err := e.svc.Images().Create(e.t.Context(), e.by, "picture", content)
	if err != nil {
		e.t.Fatal(err)
	}
	return m
}

func TestImagesAreKeptAsTheyCame(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		images := e.svc.Images()
		for _, format := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
			content := picture(t, format, 30, 20)
			made, err := images.Create(t.Context(), e.by, ` C:\photos/../cat.png `, content)
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			m, err := images.Get(t.Context(), e.by.OrgID, made.ID)
			if err != nil || m.MediaType != format || m.Width != 30 || m.Height != 20 || m.Size != int64(len(content)) || m.Name != "cat.png" ||
				m.CreatedAt != made.CreatedAt || m.CreatedAt == 0 || m.CreatedByKind != models.ActorUser {
				t.Errorf("%s: stored %+v, %v", format, m, err)
			}
			for range 2 { // the same content again is another image, with the same blob
				again := e.image(content)
				got, err := images.Read(t.Context(), e.by.OrgID, again.ID)
				if err != nil || got.MediaType != format || !bytes.Equal(got.Data, content) || again.ID == made.ID {
					t.Errorf("%s: read %d bytes of %s, %v", format, len(got.Data), got.MediaType, err)
				}
			}
		}
		for _, name := range []string{".", "..", "/", `..\..`, "a/..", "//"} { // these name no file
			made, err := images.Create(t.Context(), e.by, name, picture(t, "image/png", 30, 20))
			if err != nil || made.Name != "" {
				t.Errorf("%q became %q, %v", name, made.Name, err)
			}
		}
		var blobs int64
		if err := store.Of(e.db.ReadAcross(t.Context()), e.by.OrgID).Model(&models.Blob{}).Count(&blobs).Error; err != nil || blobs != 4 {
			t.Errorf("%d blobs, %v", blobs, err)
		}
	})
}

func TestImagesOfOthersAreUnknown(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		images := e.svc.Images()
		mine := e.image(picture(t, "image/png", 1, 1))
		unknown := models.NewID[models.ImageEntity]()
		for _, id := range []models.ImageID{mine.ID, unknown} {
			_, err := images.Get(t.Context(), e.theirs.OrgID, id)
			wantFault(t, err, fault.NotFound, "")
			if _, err := images.Read(t.Context(), e.theirs.OrgID, id); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("read: %v", err)
			}
		}
		// Not even one who knows the hash, by having the same content, gets at the row.
		theirs, err := images.Create(t.Context(), e.theirs, "", picture(t, "image/png", 1, 1))
		if err != nil || theirs.ID == mine.ID {
			t.Fatal(theirs, err)
		}
		if got, err := images.Read(t.Context(), e.theirs.OrgID, theirs.ID); err != nil || len(got.Data) == 0 {
			t.Errorf("their own: %v", err)
		}
	})
}

func TestWhatIsNoImageIsRefused(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		small := picture(t, "image/png", 1, 1)
		for name, c := range map[string]struct {
			name    string
			content []byte
			code    fault.Code
			path    string
		}{
			"nothing":        {"", []byte(""), fault.Invalid, ""},
			"text":           {"a.png", []byte("hello"), fault.Invalid, ""},
			"SVG":            {"a.svg", []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), fault.Invalid, ""},
			"HTML":           {"a.png", []byte("<!doctype html><script>alert(1)</script>"), fault.Invalid, ""},
			"a head alone":   {"", small[:12], fault.Invalid, ""},
			"a cut JPEG":     {"", picture(t, "image/jpeg", 9, 9)[:40], fault.Invalid, ""},
			"a cut WebP":     {"", picture(t, "image/webp", 9, 9)[:20], fault.Invalid, ""},
			"too wide":       {"", bomb(maxImageSide+1, 1), fault.Invalid, ""},
			"too high":       {"", bomb(1, maxImageSide+1), fault.Invalid, ""},
			"a bomb":         {"", bomb(16_000, 16_000), fault.Invalid, ""},
			"a huge bomb":    {"", bomb(1<<31-1, 1<<31-1), fault.Invalid, ""},
			"too large":      {"", append(bytes.Clone(small), make([]byte, MaxImageBytes)...), fault.Invalid, ""},
			"a long name":    {strings.Repeat("é", maxImageName+1), small, fault.Invalid, "name"},
			"a NUL in it":    {"a\x00b", small, fault.Invalid, "name"},
			"no UTF-8 in it": {"a\xff", small, fault.Invalid, "name"},
		} {
			_, err := e.svc.Images().Create(t.Context(), e.by, c.name, c.content)
			if f := fault.As(err); f == nil || f.Code != c.code || strings.Join(f.Path, ".") != c.path || f.Message == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, table := range []any{&models.Image{}, &models.Blob{}} {
			var n int64
			if err := store.Of(e.db.Read(t.Context(), e.by.OrgID), e.by.OrgID).Model(table).Count(&n).Error; err != nil || n != 0 {
				t.Errorf("%d rows of %T were left behind, %v", n, table, err)
			}
		}
	})
}

func TestMessagesShowImages(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create().ID
		a, b := e.image(picture(t, "image/png", 2, 2)), e.image(picture(t, "image/gif", 2, 2))
		in := NewMessage{SessionID: s, IdempotencyKey: ptr("k"), Content: []NewPart{{ImageID: &b.ID}, Text("what is this?"), {ImageID: &a.ID}}}
		m, _, err := e.svc.Send(t.Context(), e.by, in)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := e.svc.Message(t.Context(), e.by.OrgID, m.ID)
		if err != nil || len(stored.Content) != 3 || stored.Content[0].Type != models.PartImage || *stored.Content[0].ImageID != b.ID ||
			stored.Content[0].MediaType != "image/gif" || stored.Content[1].Text != "what is this?" || *stored.Content[2].ImageID != a.ID {
			t.Fatalf("stored %+v, %v", stored, err)
		}
		if !strings.Contains(string(e.log(s)[1].Data), a.ID.String()) {
			t.Errorf("the event is %s", e.log(s)[1].Data)
		}
		if again, _, err := e.svc.Send(t.Context(), e.by, in); err != nil || again.ID != m.ID {
			t.Errorf("repeated: %v, %v", again, err)
		}
		in.Content = []NewPart{{ImageID: &a.ID}, Text("what is this?"), {ImageID: &a.ID}}
		_, _, err = e.svc.Send(t.Context(), e.by, in)
		wantFault(t, err, fault.IdempotencyMismatch, "input.idempotencyKey")
		// An image alone is a message too.
		if _, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: []NewPart{{ImageID: &a.ID}}}); err != nil {
			t.Error(err)
		}
	})
}

func TestImagesThatAMessageCannotShow(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create().ID
		mine := e.image(picture(t, "image/png", 2, 2))
		foreign, err := e.svc.Images().Create(t.Context(), e.theirs, "", picture(t, "image/png", 2, 2))
		if err != nil {
			t.Fatal(err)
		}
		large := e.image(append(picture(t, "image/png", 2, 2), make([]byte, MaxImageBytes-1000)...))
		unknown := models.NewID[models.ImageEntity]()
		before := e.kinds(s)
		many := make([]NewPart, maxImages+1)
		for i := range many {
			many[i].ImageID = &mine.ID
		}
		for name, c := range map[string]struct {
			content []NewPart
			code    fault.Code
			path    string
		}{
			"neither":         {[]NewPart{Text("a"), {}}, fault.Invalid, "input.content.1"},
			"both":            {[]NewPart{{Text: ptr("a"), ImageID: &mine.ID}}, fault.Invalid, "input.content.0"},
			"unknown":         {[]NewPart{Text("a"), {ImageID: &unknown}}, fault.NotFound, "input.content.1.imageId"},
			"foreign":         {[]NewPart{Text("a"), {ImageID: &foreign.ID}}, fault.NotFound, "input.content.1.imageId"},
			"too many":        {many, fault.Invalid, "input.content"},
			"too large a sum": {[]NewPart{{ImageID: &large.ID}, {ImageID: &large.ID}}, fault.Invalid, "input.content"},
		} {
			_, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: c.content})
			t.Run(name, func(t *testing.T) { wantFault(t, err, c.code, c.path) })
		}
		if _, _, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: many[:maxImages]}); err != nil {
			t.Errorf("%d images: %v", maxImages, err)
		}
		if after := e.kinds(s); !strings.HasPrefix(after, before) || strings.Count(after, "MESSAGE_RECEIVED") != 1 {
			t.Errorf("the log is %s", after)
		}
	})
}

// A request that the version before this answered, and that is repeated now, is known again.
func TestTheHashOfTextIsTheOldOne(t *testing.T) {
	id := models.NewID[models.SessionEntity]()
	old := inputHash(struct {
		SessionID models.SessionID
		Texts     []string
		Delivery  turns.Delivery
		ModelID   *models.ModelID
		MaxTokens *int
	}{id, []string{"a", "b"}, turns.Steer, nil, ptr(3)})
	in := NewMessage{SessionID: id, Content: []NewPart{Text("a"), Text("b")}, Delivery: turns.Steer, MaxTokens: ptr(3), IdempotencyKey: ptr("k")}
	if !bytes.Equal(in.hash(), old) {
		t.Error("it is another one")
	}
}
