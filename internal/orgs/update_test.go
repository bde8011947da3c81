package orgs_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
)

func TestUpdateOrg(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		theirs := w.createOrg(in, "Theirs")
		harness, model := *in.Org.DefaultHarnessID, *in.Org.DefaultModelID
		w.write(func(tx *gorm.DB) error {
			return store.Of(tx.Model(&models.Model{}), in.Org.ID).Where("id = ?", model).Update("enabled", true).Error
		})
		update := func(c orgs.OrgChange) (models.Org, error) { return w.UpdateOrg(w.ctx(), in.Principal, c) }
		name := "  Acme "
		org, err := update(orgs.OrgChange{Name: catalog.Give(&name)})
		if err != nil || org.Name != "Acme" || org.Slug != in.Org.Slug || *org.DefaultHarnessID != harness || *org.DefaultModelID != model {
			t.Errorf("the name alone: got %+v, %v", org, err)
		}
		org, err = update(orgs.OrgChange{
			DefaultHarnessID: catalog.Give[*models.HarnessID](nil), DefaultModelID: catalog.Give[*models.ModelID](nil),
		})
		if err != nil || org.DefaultHarnessID != nil || org.DefaultModelID != nil || org.Name != "Acme" {
			t.Errorf("cleared: got %+v, %v", org, err)
		}
		if _, err := update(orgs.OrgChange{Name: catalog.Give(&name)}); err != nil {
			t.Errorf("what it has already: %v", err)
		}
		org, err = update(orgs.OrgChange{DefaultHarnessID: catalog.Give(&harness), DefaultModelID: catalog.Give(&model)})
		if err != nil || *org.DefaultHarnessID != harness || *org.DefaultModelID != model {
			t.Errorf("set: got %+v, %v", org, err)
		}
		stored, err := w.Org(w.ctx(), org.ID)
		if err != nil || stored.Name != "Acme" || *stored.DefaultModelID != model {
			t.Errorf("got %+v, %v", stored, err)
		}
		for range 2 { // the second time it is so already
			if org, err = update(orgs.OrgChange{AllowUnpriced: catalog.Give(new(true))}); err != nil || !org.AllowUnpriced {
				t.Errorf("allowed unpriced models: got %+v, %v", org, err)
			}
		}
		if stored, err := w.Org(w.ctx(), org.ID); err != nil || !stored.AllowUnpriced {
			t.Errorf("allowed unpriced models: got %+v, %v", stored, err)
		}
		if actions, last := w.recorded(org.ID); len(actions) != 4 || last["allowUnpricedModels"].(map[string]any)["after"] != true {
			t.Errorf("recorded %v, last %v", actions, last)
		}
		if org, err = update(orgs.OrgChange{AllowUnpriced: catalog.Give(new(false)), Name: catalog.Give(&name)}); err != nil || org.AllowUnpriced {
			t.Errorf("forbade them again: got %+v, %v", org, err)
		}
		org, err = update(orgs.OrgChange{DefaultModelID: catalog.Give[*models.ModelID](nil)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = update(orgs.OrgChange{DefaultModelID: catalog.Give(&model)}); err != nil {
			t.Fatal(err)
		}
		actions, last := w.recorded(org.ID)
		if len(actions) != 7 || last["name"] != nil || last["defaultModelId"].(map[string]any)["after"] != model.String() {
			t.Errorf("recorded %v, last %v", actions, last)
		}
		if other, err := w.Org(w.ctx(), theirs.ID); err != nil || other.Name != "Theirs" {
			t.Errorf("another organization: got %+v, %v", other, err)
		}
	})
}

func TestUpdateOrgRefusals(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		theirs := w.createOrg(in, "Theirs")
		unknownHarness, unknownModel := models.NewID[models.HarnessEntity](), models.NewID[models.ModelEntity]()
		archived := models.Harness{
			OrgID: in.Org.ID, ID: models.NewID[models.HarnessEntity](), Name: "old", NameKey: "old", Lifecycle: models.LifecycleArchived,
			Capabilities: []models.CapabilityRef{}, CreatedAt: 1, UpdatedAt: 1,
		}
		var seeded models.Model
		if err := store.Of(w.db.ReadAcross(t.Context()), in.Org.ID).Take(&seeded).Error; err != nil {
			t.Fatal(err)
		}
		disabled := models.Model{OrgID: in.Org.ID, ID: models.NewID[models.ModelEntity](), ProviderID: seeded.ProviderID, Name: "off", CreatedAt: 1, UpdatedAt: 1}
		w.write(func(tx *gorm.DB) error {
			if err := tx.Create(&archived).Error; err != nil {
				return err
			}
			return tx.Create(&disabled).Error
		})
		name, blank := "New", " "
		for what, c := range map[string]struct {
			in   orgs.OrgChange
			code fault.Code
			at   string
		}{
			"no name":           {orgs.OrgChange{Name: catalog.Give[*string](nil)}, fault.Invalid, "name"},
			"neither":           {orgs.OrgChange{AllowUnpriced: catalog.Give[*bool](nil)}, fault.Invalid, "allowUnpricedModels"},
			"blank name":        {orgs.OrgChange{Name: catalog.Give(&blank)}, fault.Invalid, "name"},
			"unknown harness":   {orgs.OrgChange{DefaultHarnessID: catalog.Give(&unknownHarness)}, fault.NotFound, "defaultHarnessId"},
			"foreign harness":   {orgs.OrgChange{DefaultHarnessID: catalog.Give(theirs.DefaultHarnessID)}, fault.NotFound, "defaultHarnessId"},
			"archived harness":  {orgs.OrgChange{DefaultHarnessID: catalog.Give(&archived.ID)}, fault.Dependency, "defaultHarnessId"},
			"unknown model":     {orgs.OrgChange{DefaultModelID: catalog.Give(&unknownModel)}, fault.NotFound, "defaultModelId"},
			"foreign model":     {orgs.OrgChange{DefaultModelID: catalog.Give(theirs.DefaultModelID)}, fault.NotFound, "defaultModelId"},
			"disabled model":    {orgs.OrgChange{DefaultModelID: catalog.Give(&disabled.ID)}, fault.Dependency, "defaultModelId"},
			"half of it is bad": {orgs.OrgChange{Name: catalog.Give(&name), DefaultModelID: catalog.Give(&unknownModel)}, fault.NotFound, "defaultModelId"},
		} {
			_, err := w.UpdateOrg(w.ctx(), in.Principal, c.in)
			wantFault(t, what, err, c.code, "input", c.at)
		}
		if org, err := w.Org(w.ctx(), in.Org.ID); err != nil || org.Name != in.Org.Name || *org.DefaultModelID != *in.Org.DefaultModelID {
			t.Errorf("got %+v, %v", org, err)
		}
		if actions, _ := w.recorded(in.Org.ID); len(actions) != 0 {
			t.Errorf("recorded %v", actions)
		}
	})
}

func TestUpdateViewer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.owner()
		for range 2 { // the second time it has this name already
			u, err := w.UpdateViewer(w.ctx(), in.Principal, "  Ada Lovelace ")
			if err != nil || u.Name != "Ada Lovelace" || u.ID != in.User.ID {
				t.Errorf("got %+v, %v", u, err)
			}
		}
		if u, err := w.User(w.ctx(), in.User.ID); err != nil || u.Name != "Ada Lovelace" || u.Email != in.User.Email {
			t.Errorf("got %+v, %v", u, err)
		}
		actions, last := w.recorded(in.Org.ID)
		if len(actions) != 1 || last["name"].(map[string]any)["before"] != in.User.Name {
			t.Errorf("recorded %v, last %v", actions, last)
		}
		for _, name := range []string{"", " ", "a\x00", strings.Repeat("x", 201)} {
			_, err := w.UpdateViewer(w.ctx(), in.Principal, name)
			wantFault(t, name, err, fault.Invalid, "name")
		}
		_, err := w.UpdateViewer(w.ctx(), &auth.Principal{OrgID: in.Org.ID}, "Key")
		wantFault(t, "who is no person", err, fault.Forbidden)
	})
}
