package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// dashboard serves the built dashboard from memory. Its routes live in the browser, so every address that is no file
// answers with index.html.
type dashboard struct {
	files fs.FS
	// etags are made when a file is first asked for: embedded files have no time of change.
	etags sync.Map
}

const (
	indexFile = "index.html"
	notBuilt  = `<!doctype html><meta charset="utf-8"><title>Ostler</title>
<h1>The dashboard is not built</h1><p>Run <code>make build</code>, then start the server again. The API at <code>/graphql</code> works without it.</p>
`
)

// ServeHTTP implements http.Handler.
func (d *dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	switch {
	case isHidden(name):
		http.NotFound(w, r)
	case name != "" && d.serve(w, r, name):
	case path.Ext(name) != "" && !wantsPage(r), strings.HasPrefix(name, "assets/"):
		http.NotFound(w, r)
	case !d.serve(w, r, indexFile):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(notBuilt))
	}
}

// isHidden keeps build leftovers such as .keep and .vite from being served.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }

// wantsPage tells a navigation from a script, a style or an image that is missing.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// serve answers with a file; false when there is none.
func (d *dashboard) serve(w http.ResponseWriter, r *http.Request, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	info, err := fs.Stat(d.files, name)
	if err != nil || info.IsDir() {
		return false
	}
	h := w.Header()
	source := d.compressed(h, name, r.Header.Get("Accept-Encoding"))
	content, err := fs.ReadFile(d.files, source)
	if err != nil {
		return false
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		h.Set("Content-Type", t)
	} else {
		h.Set("Content-Type", "application/octet-stream")
	}
	if strings.HasPrefix(name, "assets/") {
		h.Set("Cache-Control", "public, max-age=31536000, immutable") // their names hold their hash
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	h.Set("ETag", d.etag(source, content))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	return true
}

func (d *dashboard) etag(name string, content []byte) string {
	if tag, ok := d.etags.Load(name); ok {
		return tag.(string)
	}
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	d.etags.Store(name, tag)
	return tag
}

// codings are those in which files of the build may lie beside them, smallest first.
var codings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// compressed returns the smallest file with that content that the client takes, and says in the headers what it is.
func (d *dashboard) compressed(h http.Header, name, accept string) string {
	source, varies := name, false
	for _, coding := range codings {
		if _, err := fs.Stat(d.files, name+coding.suffix); err != nil {
			continue
		}
		varies = true
		if source == name && acceptsCoding(accept, coding.name) {
			source = name + coding.suffix
			h.Set("Content-Encoding", coding.name)
		}
	}
	if varies {
		h.Add("Vary", "Accept-Encoding")
	}
	return source
}

// acceptsCoding reads an Accept-Encoding header. What it says of a coding counts more than what it says of all others.
func acceptsCoding(header, coding string) bool {
	others := false
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		name = strings.TrimSpace(name)
		accepted := quality(strings.TrimPrefix(strings.TrimSpace(params), "q=")) > 0
		if strings.EqualFold(name, coding) {
			return accepted
		}
		others = others || name == "*" && accepted
	}
	return others
}
