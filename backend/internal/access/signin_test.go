package access

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/record"
)

// accounts knows one user, ada.
type accounts struct {
	hash  string
	noted []string
}

const adasPassword = "correct horse battery staple"

func newAccounts(t *testing.T, h *Hasher) *accounts {
	t.Helper()
	hash, err := h.Hash(t.Context(), adasPassword)
	if err != nil {
		t.Fatal(err)
	}
	return &accounts{hash: hash}
}

func (a *accounts) PasswordOf(_ context.Context, name string) (record.User, string, error) {
	if name != "ada" {
		return record.User{}, "", fleet.Errorf(fleet.CodeNotFound, "no such user")
	}
	return record.User{ID: 7, Name: name}, a.hash, nil
}

func (a *accounts) SignInsLimited(_ context.Context, _ record.Actor, name string) error {
	a.noted = append(a.noted, name)
	return nil
}

func TestHasher_KnowsItsOwn(t *testing.T) {
	h := NewHasher()
	hash, err := h.Hash(t.Context(), adasPassword)
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{adasPassword: true, adasPassword + " ": false, "": false} {
		if right, err := h.Check(t.Context(), hash, password); err != nil || right != want {
			t.Errorf("%q: %v, %v", password, right, err)
		}
	}
	if right, err := h.Check(t.Context(), "", ""); right || err != nil {
		t.Errorf("an unknown user's password is right: %v, %v", right, err)
	}
	if _, err := h.Check(t.Context(), "$argon2id$v=19$m=1,t=1,p=1$x$y", "x"); err == nil {
		t.Error("a hash of other costs was taken")
	}
}

// A password's hash has its own salt and tells nothing of the password.
func TestAttack_A40_PasswordsAreKeptAsArgon2id(t *testing.T) {
	h := NewHasher()
	one, _ := h.Hash(t.Context(), adasPassword)
	two, _ := h.Hash(t.Context(), adasPassword)
	if one == two || !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(one, "horse") {
		t.Errorf("%s and %s", one, two)
	}
}

func TestAttack_A36_GuessesOfAPasswordAreLimited(t *testing.T) {
	h, now := NewHasher(), time.Unix(1e9, 0)
	store := newAccounts(t, h)
	s := NewSignIns(store, h, func() time.Time { return now })
	here, elsewhere := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.9")
	try := func(from netip.Addr, name, password string) error {
		_, err := s.Check(t.Context(), record.Actor{}, from, name, password)
		return err
	}
	for i := range accountBurst {
		if err := try(here, "ada", "wrong"); CodeOf(err) != fleet.CodeUnauthenticated {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	var limited *limit.Error
	if err := try(here, "ada", adasPassword); !errors.As(err, &limited) {
		t.Errorf("after %d guesses the right one gave %v", accountBurst, err)
	}
	if len(store.noted) != 1 {
		t.Errorf("%d audit entries of one row of guesses", len(store.noted))
	}
	if err := try(elsewhere, "ada", adasPassword); err != nil {
		t.Errorf("guesses from one address lock ada out at another: %v", err)
	}
	if err := try(here, "bob", "wrong"); CodeOf(err) != fleet.CodeUnauthenticated {
		t.Errorf("guesses of ada's password lock bob out: %v", err)
	}
	now = now.Add(accountRefill)
	if err := try(here, "ada", adasPassword); err != nil {
		t.Errorf("after a while: %v", err)
	}
}

// An unknown name costs the same work and gets the same answer.
func TestAttack_A36_UnknownNamesLookLikeWrongPasswords(t *testing.T) {
	h := NewHasher()
	s := NewSignIns(newAccounts(t, h), h, time.Now)
	took := func(name string, least time.Duration) (time.Duration, error) {
		begin := time.Now()
		_, err := s.Check(t.Context(), record.Actor{}, netip.MustParseAddr("192.0.2.1"), name, "wrong")
		return min(least, time.Since(begin)), err
	}
	known, unknown := time.Hour, time.Hour
	var knownErr, unknownErr error
	for range 5 { // in turn: what else the machine does slows both
		known, knownErr = took("ada", known)
		unknown, unknownErr = took("nobody", unknown)
	}
	if knownErr == nil || unknownErr == nil || knownErr.Error() != unknownErr.Error() {
		t.Errorf("%v against %v", knownErr, unknownErr)
	}
	if ratio := float64(unknown) / float64(known); ratio < 0.2 || ratio > 5 {
		t.Errorf("unknown %v, known %v: the time tells them apart", unknown, known)
	}
}

func TestAttack_A37_ACrowdOfPasswordsIsTurnedAway(t *testing.T) {
	h := NewHasher()
	if err := h.work.Acquire(t.Context(), hashesAtime); err != nil { // both places are taken
		t.Fatal(err)
	}
	const crowd = 100
	answers := make(chan error, crowd)
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			_, err := h.Hash(ctx, "password of one")
			answers <- err
		})
	}
	for range crowd - hashesAtime - hashesWait {
		var busy *BusyError
		if err := <-answers; !errors.As(err, &busy) || busy.RetryAfter <= 0 {
			t.Fatalf("one too many got %v", err)
		}
	}
	leave()
	all.Wait()
	h.work.Release(hashesAtime)
	if _, err := h.Hash(t.Context(), "password of one"); err != nil {
		t.Errorf("after the crowd: %v", err)
	}
}

func TestCookie_IsForThisHostAlone(t *testing.T) {
	c := NewCookie("rpc_x")
	if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %s", c)
	}
	if err := c.Valid(); err != nil {
		t.Error(err)
	}
}

func TestGate_TellsCookiesFromTokens(t *testing.T) {
	k := newKnows()
	g := NewGate(k, time.Now)
	from := netip.MustParseAddr("192.0.2.1")
	ask := func(cookie, authorization string) (Principal, error) {
		header := http.Header{}
		if cookie != "" {
			header.Set("Cookie", cookie)
		}
		if authorization != "" {
			header.Set("Authorization", authorization)
		}
		return g.Identify(t.Context(), header, from)
	}
	if p, err := ask(CookieName+"="+k.console.Text, ""); err != nil || p.Kind != ByConsole || p.Console != k.console.Sum || p.Subject() != "u:7" {
		t.Errorf("a cookie: %+v, %v", p, err)
	}
	if p, err := ask("other=1", ""); err != nil || p.Kind != Anonymous {
		t.Errorf("a foreign cookie: %+v, %v", p, err)
	}
	for _, cookie := range []string{
		CookieName + "=" + k.token.Text, CookieName + "=" + k.node.Text, CookieName + "=", CookieName + "=" + enroll.NewConsoleSecret().Text,
		CookieName + "=" + k.console.Text + "; " + CookieName + "=" + k.console.Text, "rockpool=" + k.console.Text,
	} {
		if p, err := ask(cookie, ""); err == nil && p.Kind != Anonymous {
			t.Errorf("%s: %+v", cookie, p)
		}
	}
	if _, err := ask("", "Bearer "+k.console.Text); err == nil {
		t.Error("a console's secret was taken as a token")
	}
}

func TestAttack_A33_OnlyOurOwnPagesMayUseACookie(t *testing.T) {
	for _, c := range []struct {
		method, origin, site string
		ok                   bool
	}{
		{"GET", "", "", true}, {"GET", "https://evil.example", "cross-site", true},
		{"POST", "http://rockpool.example", "same-origin", true}, {"POST", "http://rockpool.example", "", true}, {"POST", "", "same-origin", true},
		{"POST", "", "", false}, {"POST", "null", "", false}, {"POST", "https://evil.example", "", false},
		{"POST", "http://rockpool.example.evil.example", "", false}, {"POST", "http://evil-rockpool.example", "", false},
		{"PUT", "", "cross-site", false}, {"DELETE", "", "same-site", false}, {"POST", "http://rockpool.example:81", "", false},
	} {
		r := httptest.NewRequest(c.method, "http://rockpool.example/v1/x", nil)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		if err := SameOrigin(r, true); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for origin, ok := range map[string]bool{"https://rockpool.example": true, "http://rockpool.example": false, "HTTP://rockpool.example": false} {
		r := httptest.NewRequest("POST", "https://rockpool.example/v1/x", nil) // over TLS
		r.Header.Set("Origin", origin)
		if err := SameOrigin(r, true); (err == nil) != ok {
			t.Errorf("%s over TLS: %v", origin, err)
		}
	}
}
