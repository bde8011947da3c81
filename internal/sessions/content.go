package sessions

import (
	"context"
	"fmt"
	"slices"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// maxImages and maxImagesBytes bound the images of one message.
	maxImages      = 20
	maxImagesBytes = 32 << 20
)

// check checks what can be checked without the database.
func (in *NewMessage) check() error {
	if err := checkContent(in.Content, "input", "content"); err != nil {
		return err
	}
	if in.MaxTokens != nil && *in.MaxTokens < 1 {
		return fault.New(fault.Invalid, "maxTokens must be 1 or more, not %d.", *in.MaxTokens).At("input", "maxTokens")
	}
	return checkKey(in.IdempotencyKey)
}

// checkContent checks the content of a message, which is at a path of the request.
func checkContent(content []NewPart, at ...string) error {
	if len(content) == 0 {
		return fault.New(fault.Invalid, "The message is empty. Add at least one part with text or an image.").At(at...)
	}
	size, images := 0, 0
	for i, p := range content {
		path := append(slices.Clip(at), fmt.Sprint(i))
		switch {
		case (p.Text == nil) == (p.ImageID == nil):
			return fault.New(fault.Invalid, "A part is either text or an image: set exactly one of text and imageId.").At(path...)
		case p.ImageID != nil:
			images++
			continue
		}
		path = append(path, "text")
		if *p.Text == "" {
			return fault.New(fault.Invalid, "The text is empty.").At(path...)
		}
		if err := text.Check(*p.Text, MaxMessageBytes, path...); err != nil {
			return err
		}
		size += len(*p.Text)
	}
	if size > MaxMessageBytes {
		return fault.New(fault.Invalid, "The message has %d bytes; at most %d are allowed. Put large text into a file of the session.",
			size, MaxMessageBytes).At(at...)
	}
	if images > maxImages {
		return fault.New(fault.Invalid, "The message has %d images; at most %d are allowed. Send some in another message.",
			images, maxImages).At(at...)
	}
	return nil
}

// parts returns the content as it is stored. Images must be the organization's; as they are never changed or deleted, this holds
// until the message is committed. The path is that of the content in the request.
func (s *Service) parts(ctx context.Context, org models.OrgID, content []NewPart, at ...string) ([]models.Part, error) {
	var ids []models.ImageID
	for _, p := range content {
		if p.ImageID != nil {
			ids = append(ids, *p.ImageID)
		}
	}
	var images map[models.ImageID]models.Image
	if len(ids) > 0 {
		var err error
		if images, err = s.images.byID(ctx, org, ids); err != nil {
			return nil, err
		}
	}
	parts := make([]models.Part, len(content))
	var size int64
	for i, p := range content {
		if p.Text != nil {
			parts[i] = models.Part{Type: models.PartText, Text: *p.Text}
			continue
		}
		image, ok := images[*p.ImageID]
		if !ok {
			return nil, notFound(p.ImageID).At(append(slices.Clip(at), fmt.Sprint(i), "imageId")...)
		}
		if size += image.Size; size > maxImagesBytes {
			return nil, fault.New(fault.Invalid, "The images of the message have more than %d bytes in all. Send some in another message, or make them smaller.",
				maxImagesBytes).At(at...)
		}
		parts[i] = models.Part{Type: models.PartImage, ImageID: &image.ID, MediaType: image.MediaType}
	}
	return parts, nil
}

// hash tells one request from another. A message of text alone has the hash that it had before there were images, so that a request
// which another version answered is known again.
func (in *NewMessage) hash() []byte {
	input := struct {
		SessionID models.SessionID
		Texts     []string
		Delivery  turns.Delivery
		ModelID   *models.ModelID
		MaxTokens *int
		Content   []NewPart `json:",omitempty"`
	}{SessionID: in.SessionID, Delivery: in.Delivery, ModelID: in.ModelID, MaxTokens: in.MaxTokens}
	for _, p := range in.Content {
		if p.Text == nil {
			input.Texts, input.Content = nil, in.Content
			break
		}
		input.Texts = append(input.Texts, *p.Text)
	}
	return inputHash(input)
}
