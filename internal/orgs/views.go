package orgs

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// Limits of saved views, in characters and for each person in an organization.
const (
	maxViewName   = 60
	maxViewSearch = 2000
	maxViews      = 50
)

// ViewInput is what a person saves as a view.
type ViewInput struct {
	Name, Search string
	// Preferred makes it the one that the list begins with, in place of another.
	Preferred bool
}

func (in *ViewInput) check() error {
	name, err := cleanName(in.Name)
	if err != nil {
		return at(err, "input", "name")
	}
	if in.Name = name; utf8.RuneCountInString(name) > maxViewName {
		return fault.New(fault.Invalid, "The name is too long: at most %d characters are allowed.", maxViewName).At("input", "name")
	}
	return text.Check(in.Search, maxViewSearch, "input", "search") //nolint:wrapcheck // a fault
}

// SavedViews returns the caller's views, by name.
func (s *Service) SavedViews(ctx context.Context, by *auth.Principal) ([]models.SavedView, error) {
	if err := needPerson(by, "have saved views"); err != nil {
		return nil, err
	}
	var list []models.SavedView
	if err := store.Of(s.db.Read(ctx, by.OrgID), by.OrgID).Where("user_id = ?", by.UserID).Order("name_key").Limit(maxViews).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("list saved views: %w", err)
	}
	return list, nil
}

// SaveView makes a view of the caller's, or changes the one with the given id.
func (s *Service) SaveView(ctx context.Context, by *auth.Principal, id *models.SavedViewID, in ViewInput) (*models.SavedView, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	now := clock.Millis(s.clock)
	view := &models.SavedView{OrgID: by.OrgID, UserID: by.UserID, ID: models.NewID[models.SavedViewEntity](), CreatedAt: now}
	err := s.changeViews(ctx, by, func(tx, own *gorm.DB) error {
		if id != nil {
			found, err := store.First[models.SavedView](own.Where("id = ?", id))
			if err != nil || found == nil {
				return orNoView(err)
			}
			view = found
		} else {
			var n int64
			if err := own.Model(&models.SavedView{}).Count(&n).Error; err != nil {
				return fmt.Errorf("count saved views: %w", err)
			}
			if n >= maxViews {
				return fault.New(fault.Conflict, "You have %d saved views, which is as many as there can be. Delete one first.", maxViews)
			}
		}
		view.Name, view.NameKey, view.Search, view.Preferred, view.UpdatedAt = in.Name, strings.ToLower(in.Name), in.Search, in.Preferred, now
		if in.Preferred {
			if err := own.Model(&models.SavedView{}).Where("id <> ?", view.ID).Update("preferred", false).Error; err != nil {
				return fmt.Errorf("change the preferred view: %w", err)
			}
		}
		err := tx.Clauses(clause.OnConflict{Columns: viewKey, UpdateAll: true}).Create(view).Error
		if store.IsDuplicate(err) {
			return fault.New(fault.Taken, "You have a view with this name already. Choose another name.").At("input", "name")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return view, nil
}

// viewKey is the primary key of saved views.
var viewKey = []clause.Column{{Name: "org_id"}, {Name: "user_id"}, {Name: "id"}} //nolint:gochecknoglobals // a constant

// DeleteSavedView deletes a view of the caller's.
func (s *Service) DeleteSavedView(ctx context.Context, by *auth.Principal, id models.SavedViewID) error {
	return s.changeViews(ctx, by, func(_, own *gorm.DB) error {
		res := own.Where("id = ?", id).Delete(&models.SavedView{})
		if res.Error != nil || res.RowsAffected == 0 {
			return orNoView(res.Error)
		}
		return nil
	})
}

func orNoView(err error) error {
	if err != nil {
		return fmt.Errorf("change a saved view: %w", err)
	}
	return fault.New(fault.NotFound, "You have no saved view with this id.").At("id")
}

// changeViews changes views of the caller under the lock of the membership that they belong to; own finds them.
func (s *Service) changeViews(ctx context.Context, by *auth.Principal, change func(tx, own *gorm.DB) error) error {
	if err := needPerson(by, "have saved views"); err != nil {
		return err
	}
	err := s.db.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		member, err := store.First[models.Membership](store.Of(tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}), by.OrgID).Where("user_id = ?", by.UserID))
		if err != nil {
			return fmt.Errorf("lock a membership: %w", err)
		}
		if member == nil {
			return fault.New(fault.Forbidden, "You are no longer a member of this organization.")
		}
		own := store.Of(tx, by.OrgID).Where("user_id = ?", by.UserID).Session(&gorm.Session{})
		return change(tx, own)
	})
	return err //nolint:wrapcheck // it says what
}
