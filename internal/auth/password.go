package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/shares"
	"github.com/ostler-dev/ostler/internal/text"
)

// What a password hash costs: 19 MiB of memory and two passes over it.
const (
	argonMemoryKiB = 19 * 1024
	argonTime      = 2
	argonThreads   = 1
	argonSaltLen   = 16
	argonHashLen   = 32
	argonAtOnce    = 2
)

// releaseDelay is how long after a hash its memory is given back; those of the time between are given back with it.
const releaseDelay = 2 * time.Second

// The length of a password, in characters.
const (
	MinPasswordLength = 8
	MaxPasswordLength = 1000
)

var errBadHash = errors.New("the stored password hash is not one of Argon2id")

// Passwords hashes and verifies passwords. A process has one: it lets two computations run at once, so that many
// sign-ins at a time take neither all of its memory nor all of its processors.
type Passwords struct {
	// slots are shared by network, so that a flood from one makes nobody else wait.
	slots shares.Shares[string]
	// releasing is true when memory will be given back soon.
	releasing atomic.Bool
}

// NewPasswords makes a Passwords.
func NewPasswords() *Passwords { return &Passwords{slots: shares.Shares[string]{Places: argonAtOnce}} }

// CheckPassword tells, as a *fault.Error without a path, what is wrong with a password that somebody chose.
func CheckPassword(password string) error {
	switch n := utf8.RuneCountInString(password); {
	case !text.Storable(password):
		return fault.New(fault.Invalid, "The password contains characters that are not valid text.")
	case n < MinPasswordLength:
		return fault.New(fault.Invalid, "The password is too short: it needs at least %d characters.", MinPasswordLength)
	case n > MaxPasswordLength:
		return fault.New(fault.Invalid, "The password is too long: at most %d characters are allowed.", MaxPasswordLength)
	}
	return nil
}

// Hash returns the PHC string of a password under a new salt. It waits for a free slot; its errors are the context's.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSaltLen)
	if _, err := rand.Read(salt); err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	hash, err := p.compute(ctx, password, argonParams{argonMemoryKiB, argonTime, argonThreads, salt, argonHashLen})
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKiB, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(hash)), nil
}

// Verify reports whether a password is the one of a PHC string. It waits for a free slot.
func (p *Passwords) Verify(ctx context.Context, phc, password string) (bool, error) {
	params, want, err := parsePHC(phc)
	if err != nil {
		return false, err
	}
	got, err := p.compute(ctx, password, params)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// VerifyNothing does the work of Verify where there is no hash to compare with: nobody can tell by the time that an
// answer takes whether a user exists.
func (p *Passwords) VerifyNothing(ctx context.Context, password string) error {
	_, err := p.compute(ctx, password,
		argonParams{argonMemoryKiB, argonTime, argonThreads, make([]byte, argonSaltLen), argonHashLen})
	return err
}

type argonParams struct {
	memoryKiB, time uint32
	threads         uint8
	salt            []byte
	length          uint32
}

func (p *Passwords) compute(ctx context.Context, password string, a argonParams) ([]byte, error) {
	request := RequestFrom(ctx)
	network, wait := Network(request.Address), p.slots.Wait
	if request.Known {
		wait = p.slots.WaitFirst
	}
	if err := wait(ctx, network); err != nil {
		return nil, fmt.Errorf("wait to check a password: %w", err)
	}
	defer p.slots.Leave(network, 1)
	// The same letters typed on two systems may come as different code points.
	text := norm.NFC.String(password)
	hash := argon2.IDKey([]byte(text), a.salt, a.time, a.memoryKiB, a.threads, a.length)
	p.release()
	return hash, nil
}

// release returns the memory of hashes to the system. What a hash takes may be more than the rest of the process: were it left to the
// collector, that would let as much garbage gather again, and an idle process would keep it.
func (p *Passwords) release() {
	if p.releasing.Swap(true) {
		return
	}
	time.AfterFunc(releaseDelay, func() {
		p.releasing.Store(false)
		debug.FreeOSMemory()
	})
}

func parsePHC(phc string) (argonParams, []byte, error) {
	var (
		a       argonParams
		version int
	)
	parts := strings.Split(phc, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return a, nil, errBadHash
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return a, nil, errBadHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &a.memoryKiB, &a.time, &a.threads); err != nil ||
		a.time == 0 || a.threads == 0 {
		return a, nil, errBadHash
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return a, nil, errBadHash
	}
	hash, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(hash) < 16 {
		return a, nil, errBadHash
	}
	a.salt, a.length = salt, uint32(len(hash)) //nolint:gosec // a hash of our own table is short
	return a, hash, nil
}
