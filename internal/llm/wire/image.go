package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

// MaxImages bounds the images of one request, in bytes: providers refuse more, and all of it is held in memory at once.
const MaxImages = 32 << 20

// BoundImages gives the request with no more images than MaxImages allows: the newest stay, and others become notes. An image counts as
// often as it is shown. What was read for that is not read again.
func BoundImages(ctx context.Context, req *llm.Request) *llm.Request {
	if req.ReadImage == nil {
		return req
	}
	bounded := *req
	bounded.Messages = slices.Clone(req.Messages)
	kept := map[models.ImageID]llm.Image{}
	size, full := 0, false
	for i, m := range slices.Backward(bounded.Messages) {
		parts := m.Parts
		for j, p := range slices.Backward(m.Parts) {
			if p.Type != models.PartImage || p.ImageID == nil {
				continue
			}
			if !full {
				img, ok := kept[*p.ImageID]
				if !ok {
					var err error
					if img, err = req.ReadImage(ctx, *p.ImageID); err != nil {
						continue // whoever shows the images finds out why
					}
				}
				if full = size+len(img.Data) > MaxImages; !full {
					size += len(img.Data)
					kept[*p.ImageID] = img
					continue
				}
			}
			if &parts[0] == &m.Parts[0] { // others share them
				parts = slices.Clone(m.Parts)
			}
			parts[j] = models.Part{Type: models.PartText, Text: OneImageTooMany}
		}
		bounded.Messages[i].Parts = parts
	}
	bounded.ReadImage = func(ctx context.Context, id models.ImageID) (llm.Image, error) {
		if img, ok := kept[id]; ok {
			return img, nil
		}
		return req.ReadImage(ctx, id)
	}
	return &bounded
}

// ReadImage reads the image of a part. One that no provider can be shown counts as one that is not there: the error wraps
// fs.ErrNotExist. Another failure is an *llm.Error.
func ReadImage(ctx context.Context, req *llm.Request, p models.Part) (llm.Image, error) {
	if p.ImageID == nil || req.ReadImage == nil {
		return llm.Image{}, fmt.Errorf("a part without an image: %w", fs.ErrNotExist)
	}
	img, err := req.ReadImage(ctx, *p.ImageID)
	if errors.Is(err, fs.ErrNotExist) {
		return llm.Image{}, fmt.Errorf("image %s: %w", p.ImageID, fs.ErrNotExist)
	}
	if err != nil {
		return llm.Image{}, &llm.Error{
			Code: llm.CodeInternal, Transient: true, Cause: fmt.Errorf("read image %s: %w", p.ImageID, err),
			Message: "The server could not read an image of the conversation. Try again.",
		}
	}
	switch img.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return img, nil
	}
	return llm.Image{}, fmt.Errorf("image %s of type %q: %w", p.ImageID, img.MediaType, fs.ErrNotExist)
}
