package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

// clientToolsField begins the paths of the registry's failures about client tools.
const clientToolsField = "clientTools"

// CleanClientTools returns client tools as they are stored: each with a display name, and schemas without needless whitespace.
func CleanClientTools(list []models.ClientTool) models.ClientTools {
	out := make(models.ClientTools, len(list))
	for i, t := range list {
		if t.DisplayName = strings.TrimSpace(t.DisplayName); t.DisplayName == "" {
			t.DisplayName = t.Name
		}
		var b bytes.Buffer
		// What is no JSON is kept as it is, and refused.
		if json.Compact(&b, t.InputSchema) == nil {
			t.InputSchema = models.JSON(b.Bytes())
		}
		out[i] = t
	}
	return out
}

// ClientToolsHash names a set of client tools by its content.
func ClientToolsHash(list models.ClientTools) ([]byte, error) {
	b, err := json.Marshal([]models.ClientTool(list))
	if err != nil {
		return nil, fmt.Errorf("hash client tools: %w", err)
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}

func sameClientTools(a, b models.ClientTools) bool {
	return slices.EqualFunc(a, b, func(x, y models.ClientTool) bool {
		return x.Name == y.Name && x.DisplayName == y.DisplayName && x.Description == y.Description &&
			bytes.Equal(x.InputSchema, y.InputSchema) && equalPtr(x.TimeoutSeconds, y.TimeoutSeconds)
	})
}

// withSession returns an agent's tools and those of a session, which take the place of the agent's of the same name. The session's come
// last, at the place that is given.
func withSession(agent *models.Agent, session []models.ClientTool) (list []models.ClientTool, place int) {
	if agent != nil {
		for _, t := range agent.ClientTools {
			if !slices.ContainsFunc(session, func(s models.ClientTool) bool { return s.Name == t.Name }) {
				list = append(list, t)
			}
		}
	}
	return append(list, session...), len(list)
}

// validateClientTools checks tools by themselves.
func (s *Service) validateClientTools(list []models.ClientTool) error {
	err := s.registry.ValidateClientTools(list)
	if f := fault.As(err); f != nil {
		return f.At(append([]string{"input", clientToolsField}, f.Path...)...)
	}
	if err != nil {
		return fmt.Errorf("check client tools: %w", err)
	}
	return nil
}

// clash looks for a client tool of a name that another tool has. It returns the failure with the tool's place in the list; nil when
// there is none. What else is wrong with capabilities is not its business.
func (s *Service) clash(refs []models.CapabilityRef, list []models.ClientTool) (*fault.Error, int) {
	_, err := s.registry.ResolveWith(refs, list)
	f := fault.As(err)
	if f == nil || !aboutClientTools(err) {
		return nil, 0
	}
	if len(f.Path) < 2 {
		return f, -1
	}
	place, err := strconv.Atoi(f.Path[1])
	if err != nil {
		return f, -1
	}
	return f, place
}

// aboutClientTools reports whether the registry has refused a tool that an agent or a session declares, not one of a capability.
func aboutClientTools(err error) bool {
	if _, ok := errors.AsType[*tools.ContributionError](err); ok {
		return false
	}
	f := fault.As(err)
	return f != nil && len(f.Path) > 0 && f.Path[0] == clientToolsField
}

// checkAgentTools checks what an agent newly offers: its client tools, and that no two of its tools have one name. The capabilities of
// its harness count; without one, those of the organization's default harness, which most of its sessions have.
func (s *Service) checkAgentTools(tx *gorm.DB, row, next *models.Agent) error {
	changed := !sameClientTools(row.ClientTools, next.ClientTools)
	if changed {
		if err := s.validateClientTools(next.ClientTools); err != nil {
			return err
		}
	}
	other := "capabilities"
	if sameRefs(row.Capabilities, next.Capabilities) {
		other = "harnessId"
	}
	if len(next.ClientTools) == 0 || !changed && other == "harnessId" && equalPtr(row.HarnessID, next.HarnessID) {
		return nil
	}
	chain, err := chainOrDefault(tx, next.OrgID, next.HarnessID)
	if err != nil {
		return err
	}
	f, place := s.clash(Fold(layersOf(chain, next)...).Capabilities, next.ClientTools)
	switch {
	case f == nil:
		return nil
	case !changed:
		return f.At("input", other)
	case place < 0:
		return f.At("input", clientToolsField)
	}
	return f.At(append([]string{"input"}, f.Path...)...)
}

// CheckClientTools checks the client tools that a session of a harness and an agent brings, or would have with them: each by itself,
// and that no other tool has its name but one of the agent's, whose place it takes. What is archived or gone has no say.
func (s *Service) CheckClientTools(
	ctx context.Context, org models.OrgID, harness models.HarnessID, agent *models.AgentID, list []models.ClientTool,
) error {
	if err := s.validateClientTools(list); err != nil {
		return err
	}
	db := s.db.Read(ctx, org)
	chain, err := harnessChain(db, org, harness)
	if err != nil {
		return err
	}
	row, err := agentRow(db, org, agent)
	if err != nil {
		return err
	}
	all, first := withSession(row, list)
	f, place := s.clash(Fold(layersOf(chain, row)...).Capabilities, all)
	switch {
	case f == nil:
		return nil
	case place < first || len(list) == 0:
		return f.At("input", clientToolsField)
	}
	path := slices.Clone(f.Path)
	path[1] = strconv.Itoa(place - first)
	return f.At(append([]string{"input"}, path...)...)
}

// setupOf reads what a session brings; the zero value without a hash.
func setupOf(db *gorm.DB, org models.OrgID, hash string) (row models.SessionSetup, err error) {
	if hash == "" {
		return row, nil
	}
	if err := store.Of(db, org).Where("hash = ?", []byte(hash)).Take(&row).Error; err != nil {
		return row, fmt.Errorf("read what a session of %s brings: %w", org, err)
	}
	return row, nil
}
