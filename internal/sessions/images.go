package sessions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"golang.org/x/image/webp"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// Limits of images.
const (
	// MaxImageBytes bounds an image, as it was uploaded.
	MaxImageBytes = 20 << 20
	// maxImageSide and maxImagePixels bound what it becomes where it is shown: a small file may unpack to gigabytes.
	maxImageSide   = 16_384
	maxImagePixels = 64_000_000
	maxImageName   = 200
)

// Images keeps the images that messages show. They are never changed; their content is shared by hash within an organization.
type Images struct {
	db     *store.DB
	clock  clock.Clock
	limits *limits.Limits
}

// NewImages makes an Images. Without limits organizations store any number of bytes.
func NewImages(db *store.DB, c clock.Clock, of *limits.Limits) *Images { return &Images{db, c, of} }

// formats are the media types that are taken, with how to read the head of each. The pixels are never unpacked here.
func formats() map[string]func(io.Reader) (image.Config, error) {
	return map[string]func(io.Reader) (image.Config, error){
		"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig, "image/webp": webp.DecodeConfig,
	}
}

// Create stores an image: PNG, JPEG, GIF or WebP, told by its content. The name is for people; only its last element is kept.
// LIMIT_REACHED tells of too many bytes, of the image or of all that the organization has stored, INVALID of what is no image.
func (s *Images) Create(ctx context.Context, by *auth.Principal, name string, data []byte) (*models.Image, error) {
	if len(data) > MaxImageBytes {
		return nil, fault.New(fault.Invalid, "The image has more than %d bytes; make it smaller.", MaxImageBytes)
	}
	sum := sha256.Sum256(data)
	kind, actor := by.Actor()
	row := models.Image{
		OrgID: by.OrgID, ID: models.NewID[models.ImageEntity](), Size: int64(len(data)), Hash: sum[:],
		CreatedByKind: kind, CreatedByID: actor.Ptr(), CreatedAt: clock.Millis(s.clock),
	}
	var err error
	if row.Name, err = imageName(name); err != nil {
		return nil, err
	}
	if err := inspect(&row, data); err != nil {
		return nil, err
	}
	if err := checkStorageQuota(ctx, s.db, s.limits, row.OrgID, len(data)); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, row.OrgID, func(tx *gorm.DB) error {
		blob := models.Blob{OrgID: row.OrgID, Hash: row.Hash, Size: row.Size, Content: data}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&blob).Error; err != nil {
			return fmt.Errorf("store the content: %w", err)
		}
		return tx.Create(&row).Error
	})
	if err != nil {
		return nil, fmt.Errorf("store an image of %s: %w", by.OrgID, err)
	}
	return &row, nil
}

// inspect finds out what an image is, from its first bytes.
func inspect(row *models.Image, data []byte) error {
	row.MediaType = http.DetectContentType(data)
	read := formats()[row.MediaType]
	if read == nil {
		return fault.New(fault.Invalid, "This is not a supported image: send an unmodified PNG, JPEG, GIF or WebP file.")
	}
	head, err := read(bytes.NewReader(data))
	if err != nil {
		return fault.New(fault.Invalid, "The image is damaged: its first bytes are those of %s, but its size can't be read.", row.MediaType)
	}
	if head.Width < 1 || head.Height < 1 || head.Width > maxImageSide || head.Height > maxImageSide || head.Width*head.Height > maxImagePixels {
		return fault.New(fault.Invalid, "The image is %d × %d pixels; each side must be 1 to %d, and all together at most %d. Scale it down.",
			head.Width, head.Height, maxImageSide, maxImagePixels)
	}
	row.Width, row.Height = head.Width, head.Height
	return nil
}

func imageName(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s = path.Base(strings.ReplaceAll(s, `\`, "/")); s == "." || s == ".." || s == "/" {
		s = ""
	}
	return s, text.Check(s, maxImageName, "name")
}

// Get returns an image without its content; NOT_FOUND when the organization has none with this id.
func (s *Images) Get(ctx context.Context, org models.OrgID, id models.ImageID) (*models.Image, error) {
	return one[models.Image](store.Of(s.db.Read(ctx, org), org).Where("id = ?", id), id)
}

// byID reads several images without their content; those that the organization doesn't have are left out.
func (s *Images) byID(ctx context.Context, org models.OrgID, ids []models.ImageID) (map[models.ImageID]models.Image, error) {
	var rows []models.Image
	if err := store.Of(s.db.Read(ctx, org), org).Where("id IN ?", ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read images of %s: %w", org, err)
	}
	found := make(map[models.ImageID]models.Image, len(rows))
	for _, row := range rows {
		found[row.ID] = row
	}
	return found, nil
}

// Read returns an image with its content, for a model. The error wraps fs.ErrNotExist when the organization has none with this id.
func (s *Images) Read(ctx context.Context, org models.OrgID, id models.ImageID) (llm.Image, error) {
	row, err := s.Get(ctx, org, id)
	if fault.Is(err, fault.NotFound) {
		return llm.Image{}, fmt.Errorf("the image %s: %w", id, fs.ErrNotExist)
	}
	if err != nil {
		return llm.Image{}, err
	}
	data, err := s.Content(ctx, row)
	return llm.Image{MediaType: row.MediaType, Data: data}, err
}

// Content reads what an image that Get gave holds.
func (s *Images) Content(ctx context.Context, m *models.Image) ([]byte, error) {
	return storedContent(ctx, s.db, m.OrgID, m.Hash, m.ID.String())
}
