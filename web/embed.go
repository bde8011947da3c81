// Package web holds the built dashboard.
package web

import (
	"embed"
	"io/fs"
)

// dist/.keep lets the program build before the dashboard is.
//
//go:embed all:dist
var dist embed.FS

// Dist gives the dashboard's files. Before `make build` there is no index.html among them.
func Dist() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic("web: " + err.Error()) // "dist" is a valid path
	}
	return files
}
