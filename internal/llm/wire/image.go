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

// ImageLimits are what one request may hold of images. Providers refuse requests with more, which would end the conversation, and all
// of it is held in memory.
type ImageLimits struct {
	// Each bounds one image and All those of a request, in bytes as they were uploaded.
	Each, All int
	// Count bounds their number.
	Count int
}

// What the model is told in the place of an image.
const (
	// MissingImage stands for one that is gone.
	MissingImage = "(There was an image here. It is no longer available.)"
	// StrangeImage stands for one of a kind that the provider refuses.
	StrangeImage = "(There was an image here. You can't be shown images of its type.)"
	// largeImage stands for one that is larger than the provider takes.
	largeImage = "(There was an image here. It is too large for you to be shown: ask for a smaller one.)"
	// oneImageTooMany stands for one that newer ones left no room for.
	oneImageTooMany = "(There was an image here. It was left out because the conversation has too many.)"
)

// FitImages reads the images of a conversation, the newest ones first, as far as they fit into the limits; an image counts as often as
// it is shown. It returns the conversation with a text in the place of each other one.
func FitImages(ctx context.Context, req *llm.Request, limits ImageLimits) ([]llm.Message, map[models.ImageID]llm.Image, error) {
	images := map[models.ImageID]llm.Image{}
	messages := slices.Clone(req.Messages)
	size, count := 0, 0
	for i := range slices.Backward(messages) {
		m := &messages[i]
		if m.Role == models.MessageAgent || !slices.ContainsFunc(m.Parts, isImage) {
			continue
		}
		m.Parts = slices.Clone(m.Parts)
		for j := range slices.Backward(m.Parts) {
			p := &m.Parts[j]
			if !isImage(*p) {
				continue
			}
			instead := oneImageTooMany
			if count < limits.Count && size <= limits.All {
				n, err := readOnce(ctx, req, *p, images)
				switch {
				case errors.Is(err, fs.ErrNotExist):
					instead = MissingImage
				case err != nil:
					return nil, nil, err
				case n > limits.Each:
					instead = largeImage
				default:
					if size += n; size <= limits.All {
						count++
						continue
					}
				}
			}
			*p = models.Part{Type: models.PartText, Text: instead}
		}
	}
	return messages, images, nil
}

func isImage(p models.Part) bool { return p.Type == models.PartImage }

// readOnce returns the size of an image, which it reads unless it is known.
func readOnce(ctx context.Context, req *llm.Request, p models.Part, known map[models.ImageID]llm.Image) (int, error) {
	if p.ImageID != nil {
		if img, ok := known[*p.ImageID]; ok {
			return len(img.Data), nil
		}
	}
	img, err := ReadImage(ctx, req, p)
	if err != nil {
		return 0, err
	}
	known[*p.ImageID] = img
	return len(img.Data), nil
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
