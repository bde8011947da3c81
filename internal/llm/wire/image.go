package wire

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

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
