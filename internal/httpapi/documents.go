package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync/atomic"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// documents knows the documents that requests name by their hash, and keeps those used last parsed.
type documents struct {
	// trusted are those of the dashboard, by text. They never go: there are as many as its manifest has.
	trusted map[string]*trustedDocument
	// trustedText finds them by hash.
	trustedText map[string]string
	// only refuses all others to cookie sessions.
	only bool
	// persisted has the texts that callers left here under their hash. Organizations don't find each other's: what one
	// of them has sent is nobody else's business.
	persisted *fairCache[persistedKey, string]
	// parsed has what was parsed and found valid, by text, for all alike: it is the same for everybody.
	parsed *fairCache[string, *document]
}

type persistedKey struct {
	org  models.OrgID
	hash string
}

type trustedDocument struct{ parsed atomic.Pointer[document] }

// newDocuments takes the trusted documents by hash.
func newDocuments(limits Limits, trusted map[string]string, only bool) *documents {
	d := &documents{
		trusted: make(map[string]*trustedDocument, len(trusted)), trustedText: trusted, only: only,
		persisted: newFairCache[persistedKey, string](limits.PersistedDocumentBytes),
		parsed:    newFairCache[string, *document](limits.CachedDocumentBytes),
	}
	for _, text := range trusted {
		d.trusted[text] = &trustedDocument{}
	}
	return d
}

// named returns the hash by which a request names its document; "" when it doesn't.
func (r *request) named() (hash string, err *gqlerror.Error) {
	if r.documentID != "" {
		var ok bool
		if hash, ok = strings.CutPrefix(r.documentID, "sha256:"); !ok {
			return "", coded(codeBadUserInput, "`documentId` must be sha256: and the SHA-256 of the document in hexadecimal.")
		}
	}
	persisted := r.extensions["persistedQuery"]
	if persisted == nil {
		return hash, nil
	}
	object, _ := persisted.(map[string]any)
	given, ok := object["sha256Hash"].(string)
	if !ok || object["version"] != int64(1) || hash != "" && given != hash {
		return "", coded(codeBadUserInput, "`extensions.persistedQuery` must have `version` 1 and `sha256Hash`, the SHA-256 of the document in hexadecimal.")
	}
	return given, nil
}

// hasDocument reports whether a request brings a document, or the name of one.
func (r *request) hasDocument() bool {
	return r.query != "" || r.documentID != "" || r.extensions["persistedQuery"] != nil
}

// find returns the text of a request's document. leave reports that it is to be left under its hash, once it is known to be good.
func (d *documents) find(ctx context.Context, req *request) (text string, leave bool, err *gqlerror.Error) {
	hash, err := req.named()
	if err != nil {
		return "", false, err
	}
	text = req.query
	switch {
	case text != "" && hash != "":
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != hash {
			return "", false, coded(codeBadUserInput, "The document's SHA-256 differs from the hash in the request.")
		}
		leave = d.trusted[text] == nil
	case hash != "":
		var ok bool
		if text, ok = d.trustedText[hash]; !ok {
			text, ok = d.persisted.get(persistedKey{orgOf(ctx), hash})
		}
		if !ok && !d.closedTo(ctx, req) {
			return "", false, coded(codeNotPersisted, "No document has this hash. Send the hash together with the document.")
		}
	case text == "":
		return "", false, coded(codeBadUserInput, "The request contains no document: `query` is missing or empty.")
	}
	if d.trusted[text] == nil && d.closedTo(ctx, req) {
		return "", false, coded(codeNotTrusted, "Requests with a cookie may run only the dashboard's documents on this server. Use an access token or an API key.")
	}
	return text, leave, nil
}

// closedTo reports whether the caller may run trusted documents alone: whoever comes with the cookies of a sign-in, unless a
// token or a key says who they are.
func (d *documents) closedTo(ctx context.Context, req *request) bool {
	if !d.only || !req.cookies {
		return false
	}
	p := auth.FromContext(ctx)
	return p == nil || p.Transport == auth.TransportCookie
}

// parse returns the document of a text, parsing it unless that was done before.
func (d *documents) parse(ctx context.Context, text string, parse func(string) (*document, gqlerror.List)) (*document, gqlerror.List) {
	own := d.trusted[text]
	if own != nil {
		if doc := own.parsed.Load(); doc != nil {
			return doc, nil
		}
	} else if doc, ok := d.parsed.get(text); ok {
		return doc, nil
	}
	doc, errs := parse(text)
	if len(errs) != 0 {
		return nil, errs
	}
	if own == nil {
		return d.parsed.add(orgOf(ctx), text, doc, len(text)+nodeBytes*nodesOf(doc.query)), nil
	}
	if !own.parsed.CompareAndSwap(nil, doc) { // subscribers of one document share what it holds, so there must be one
		doc = own.parsed.Load()
	}
	return doc, nil
}

// leave keeps a text under its hash, for the caller's organization.
func (d *documents) leave(ctx context.Context, req *request, text string) {
	if hash, err := req.named(); err == nil {
		org := orgOf(ctx)
		d.persisted.add(org, persistedKey{org, hash}, text, len(text))
	}
}

// orgOf is the caller's organization; that of nobody is zero.
func orgOf(ctx context.Context) models.OrgID {
	if p := auth.FromContext(ctx); p != nil {
		return p.OrgID
	}
	return models.OrgID{}
}
