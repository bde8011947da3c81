// Package web holds the built dashboard, and the documents that it and those of the last releases send.
package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

// dist/.keep lets the program build before the dashboard is.
//
//go:embed all:dist
var dist embed.FS

// Dist returns the dashboard's files. Before `make build` there is no index.html among them.
func Dist() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: " + err.Error()) // "dist" is a valid path
	}
	return files
}

// trusted has current.json, which is generated, and a copy of it for each of the last releases.
//
//go:embed trusted/*.json
var trusted embed.FS

// TrustedDocuments returns the documents of the dashboard and of those of the last releases, by the SHA-256 of their text in
// hexadecimal.
func TrustedDocuments() (map[string]string, error) {
	files, err := fs.Glob(trusted, "trusted/*.json")
	if err != nil {
		return nil, fmt.Errorf("list the manifest of trusted documents: %w", err)
	}
	all := map[string]string{}
	for _, file := range files {
		b, err := trusted.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read the manifest of trusted documents: %w", err)
		}
		if err := json.Unmarshal(b, &all); err != nil { // adds to what is there
			return nil, fmt.Errorf("read the manifest of trusted documents %s: %w", file, err)
		}
	}
	return all, nil
}
