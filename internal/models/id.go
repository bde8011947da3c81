// Package models holds the rows of the database, the typed ids and the enums. It has no behaviour beyond
// reading and writing them, and imports no other package of the program.
package models

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Entity names what an ID identifies. Its prefix is what clients see in front of the hex digits.
type Entity interface{ Prefix() string }

// ID is a UUIDv7 that can't be mixed up with the id of another entity. In the database it is a native uuid
// (PostgreSQL) or 16 bytes (SQLite); outside it is "{prefix}_{32 lowercase hex digits}".
type ID[E Entity] [16]byte

// NewID makes an id that sorts after the ids made before it on this machine.
func NewID[E Entity]() ID[E] { return ID[E](uuid.Must(uuid.NewV7())) }

// DerivedID returns an id that follows from another one and from what of it is meant: whoever makes it again gets the same. Its time is that of the
// other one, so that rows are listed in its order.
func DerivedID[E, B Entity](of ID[B], what []byte) ID[E] {
	sum := sha256.Sum256(append(of[:], what...))
	id := ID[E](sum[:16])
	copy(id[:6], of[:6])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8, RFC 9562
	return id
}

// ParseID reads the outside form. It refuses another prefix, another length and uppercase digits.
func ParseID[E Entity](s string) (ID[E], error) {
	var id ID[E]
	var e E
	digits, ok := strings.CutPrefix(s, e.Prefix()+"_")
	if !ok {
		return id, fmt.Errorf("%q is not an id of this kind: it must start with %q", clip(s), e.Prefix()+"_")
	}
	if len(digits) != 32 || strings.ToLower(digits) != digits {
		return id, fmt.Errorf("%q is not an id: %q must be followed by 32 lowercase hex digits", clip(s), e.Prefix()+"_")
	}
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID[E]{}, fmt.Errorf("%q is not an id: %q must be followed by 32 lowercase hex digits", clip(s), e.Prefix()+"_")
	}
	return id, nil
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// String returns the outside form.
func (id ID[E]) String() string {
	var e E
	p := e.Prefix()
	b := make([]byte, len(p)+33)
	copy(b, p)
	b[len(p)] = '_'
	hex.Encode(b[len(p)+1:], id[:])
	return string(b)
}

// IsZero reports whether the id was never set.
func (id ID[E]) IsZero() bool { return id == ID[E]{} }

// Ptr returns the id as a nullable column holds it: nil when it was never set.
func (id ID[E]) Ptr() *ID[E] {
	if id.IsZero() {
		return nil
	}
	return &id
}

// Value implements driver.Valuer. The zero id is stored as NULL.
func (id ID[E]) Value() (driver.Value, error) {
	if id.IsZero() {
		return nil, nil
	}
	return id[:], nil
}

// Scan implements sql.Scanner for what the two drivers hand out: 16 bytes, or the text form of a uuid.
func (id *ID[E]) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*id = ID[E]{}
		return nil
	case []byte:
		if len(v) == 16 {
			copy(id[:], v)
			return nil
		}
		return id.scanText(string(v))
	case string:
		return id.scanText(v)
	case [16]byte:
		*id = v
		return nil
	}
	return fmt.Errorf("scan %T into an id: want 16 bytes or a uuid", src)
}

// ScanUUID implements pgtype.UUIDScanner: pgx then needs no copy of the bytes.
func (id *ID[E]) ScanUUID(v pgtype.UUID) error {
	*id = v.Bytes // zero for NULL
	return nil
}

func (id *ID[E]) scanText(s string) error {
	u, err := uuid.Parse(s)
	if err != nil {
		return fmt.Errorf("scan %q into an id: %w", clip(s), err)
	}
	*id = ID[E](u)
	return nil
}

// GormDataType tells GORM that the column holds bytes, not an array.
func (ID[E]) GormDataType() string { return "uuid" }

// MarshalText implements encoding.TextMarshaler with the outside form; the zero id is empty.
func (id ID[E]) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID[E]) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID[E]{}
		return nil
	}
	v, err := ParseID[E](string(b))
	if err != nil {
		return err
	}
	*id = v
	return nil
}
