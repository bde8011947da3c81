package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// List implements tools.Files.
func (o *Overlay) List(ctx context.Context, dir string, recursive bool, limit int) ([]tools.File, error) {
	d, err := o.existing(ctx, dir)
	if err != nil {
		return nil, err
	}
	if !d.Directory {
		return nil, pathError("not_directory", dir, "%s is a file.", dir)
	}
	entries, err := o.stored(ctx, dir, recursive, limit)
	if err != nil {
		return nil, err
	}
	o.changes.apply(entries, dir, recursive)
	list := make([]tools.File, 0, len(entries))
	for _, f := range entries {
		list = append(list, describe(f))
	}
	slices.SortFunc(list, func(a, b tools.File) int { return strings.Compare(a.Path, b.Path) })
	return list[:min(len(list), limit)], nil
}

// stored returns the first entries below a directory that the call has not removed: enough of them for the limit, whatever the
// call has done to single ones.
func (o *Overlay) stored(ctx context.Context, dir string, recursive bool, limit int) (map[string]models.SessionFile, error) {
	// Paths are compared byte by byte, and 0 is what follows a slash.
	q := o.rows(ctx).Where("path > ? AND path < ?", dir+"/", dir+"0").Order("path")
	if !recursive {
		q = q.Where("substr(path, ?) NOT LIKE '%/%'", utf8.RuneCountInString(dir)+2)
	}
	for _, op := range o.changes.ops {
		if op.remove && op.subtree {
			q = q.Where("NOT (path > ? AND path < ?)", op.file.Path+"/", op.file.Path+"0")
		}
	}
	var rows []models.SessionFile
	if err := q.Limit(limit + len(o.changes.ops)).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	entries := make(map[string]models.SessionFile, len(rows))
	for _, f := range rows {
		entries[f.Path] = f
	}
	return entries, nil
}

// apply does to the entries below a directory what the call has done.
func (c *Changes) apply(entries map[string]models.SessionFile, dir string, recursive bool) {
	for _, op := range c.ops {
		if op.remove {
			delete(entries, op.file.Path)
			for path := range entries {
				if op.subtree && below(path, op.file.Path) {
					delete(entries, path)
				}
			}
			continue
		}
		for _, p := range append(parents(op.file.Path), op.file.Path) {
			if !below(p, dir) || (!recursive && strings.Contains(p[len(dir)+1:], "/")) {
				continue
			}
			if _, exists := entries[p]; p == op.file.Path {
				entries[p] = op.file
			} else if !exists {
				entries[p] = models.SessionFile{Path: p, Directory: true, UpdatedAt: op.file.UpdatedAt}
			}
		}
	}
}
