package access

import (
	"context"
	"net/http"
	"net/netip"
	"rockpool/backend/internal/limit"
	"slices"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
)

func newPolicy(t testing.TB) *Policy {
	t.Helper()
	p, err := NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPolicy_DefaultIsDeny(t *testing.T) {
	p := newPolicy(t)
	for _, c := range []struct {
		subjects       []string
		object, action string
	}{
		{nil, "job", "read"},
		{[]string{}, "health", "read"},
		{[]string{"user"}, "job", "read"}, // a user called like a role is nobody
		{[]string{"u:superadmin"}, "node", "move"},
		{[]string{"superadmin"}, "node", "move"},
		{[]string{"role:user"}, "node", "move"},
		{[]string{"role:operator"}, "node", "move"},
		{[]string{"role:operator", "role:viewer", "role:user"}, "user", "grant"},
		{[]string{"role:node"}, "job", "submit"},
		{[]string{"role:anonymous"}, "job", "read"},
		{[]string{"role:superadmin"}, "no-such-object", "read"},
		{[]string{"role:superadmin"}, "job", ""},
		{[]string{"role:%", "role:*", ".*"}, "job", "read"},
	} {
		if got := p.Decide(c.subjects, c.object, c.action); got != ScopeNone {
			t.Errorf("%v may %s %s with scope %d", c.subjects, c.action, c.object, got)
		}
	}
}

func TestPolicy_TheWidestScopeOfTheRolesCounts(t *testing.T) {
	p := newPolicy(t)
	for _, c := range []struct {
		subjects []string
		want     Scope
	}{
		{[]string{"role:user"}, ScopeOwn},
		{[]string{"role:user", "role:viewer"}, ScopeAll},
		{[]string{"role:viewer", "role:user"}, ScopeAll},
		{[]string{"role:superadmin"}, ScopeAll},
	} {
		if got := p.Decide(c.subjects, "job", "read"); got != c.want {
			t.Errorf("%v: scope %d, want %d", c.subjects, got, c.want)
		}
	}
}

func TestPolicy_AnErrorDenies(t *testing.T) {
	p := newPolicy(t)
	p.enforcer.ClearPolicy()
	p.enforcer.GetModel()["m"]["m"].Value = "r.sub == nosuch("
	if got := p.Decide([]string{"role:superadmin"}, "job", "read"); got != ScopeNone {
		t.Errorf("a broken model lets through with scope %d", got)
	}
}

func TestPrincipal_UnknownRolesAreNone(t *testing.T) {
	p := Principal{Kind: ByToken, User: record.User{ID: 7, Roles: []string{"user", "node", "anonymous", "root"}}}
	if got := p.Subjects(); !slices.Equal(got, []string{"role:user"}) {
		t.Errorf("subjects %v", got)
	}
}

func TestPrincipal_AReadTokenReads(t *testing.T) {
	p := Principal{Kind: ByToken, Token: record.Token{Scopes: []string{ScopeRead}}}
	if !p.TokenAllows("read") || p.TokenAllows("submit") || p.TokenAllows("verify") {
		t.Error("a read token must read and nothing else")
	}
	p.Token.Scopes = []string{"of-a-later-release"}
	if p.TokenAllows("read") {
		t.Error("an unknown scope must let nothing through")
	}
	p.Token.Scopes = nil
	if !p.TokenAllows("submit") {
		t.Error("a token without scopes lets through what the user may")
	}
}

// knows is a store with one token and one node.
type knows struct {
	token   enroll.Secret
	node    enroll.Secret
	console enroll.Secret
	user    record.User
	expires *time.Time
	left    bool
	asked   int
}

func (k *knows) TokenBySum(_ context.Context, sum enroll.Sum) (record.Token, record.User, error) {
	k.asked++
	if sum != k.token.Sum {
		return record.Token{}, record.User{}, fleet.Errorf(fleet.CodeNotFound, "no token")
	}
	return record.Token{ID: "t", ExpiresAt: k.expires}, k.user, nil
}

func (k *knows) ConsoleSessionBySum(_ context.Context, sum enroll.Sum) (record.User, error) {
	k.asked++
	if sum != k.console.Sum {
		return record.User{}, fleet.Errorf(fleet.CodeNotFound, "no console session")
	}
	return record.User{ID: 7, Name: "ada", Roles: []string{RoleUser}}, nil
}

func (k *knows) NodeBySecret(_ context.Context, sum enroll.Sum) (fleet.NodeRecord, error) {
	k.asked++
	if sum != k.node.Sum {
		return fleet.NodeRecord{}, fleet.Errorf(fleet.CodeNotFound, "no node")
	}
	return fleet.NodeRecord{ID: "n", Left: k.left}, nil
}

var (
	clockNow = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	here     = netip.MustParseAddr("192.0.2.1")
)

func bearer(secret string) http.Header { return http.Header{"Authorization": {"Bearer " + secret}} }

func newKnows() *knows {
	return &knows{token: enroll.NewTokenSecret(), node: enroll.NewNodeSecret(), console: enroll.NewConsoleSecret(), user: record.User{ID: 7, Roles: []string{RoleUser}}}
}

func TestGate_TheShapeTellsTheKind(t *testing.T) {
	store := newKnows()
	g := NewGate(store, func() time.Time { return clockNow })
	for _, c := range []struct {
		name   string
		header http.Header
		kind   Kind
		code   fleet.Code
	}{
		{"none", http.Header{}, Anonymous, ""},
		{"token", bearer(store.token.Text), ByToken, ""},
		{"node", bearer(store.node.Text), ByNodeSecret, ""},
		{"lower case scheme", http.Header{"Authorization": {"bearer " + store.token.Text}}, ByToken, ""},
		{"unknown token", bearer(enroll.NewTokenSecret().Text), Anonymous, fleet.CodeUnauthenticated},
		{"unknown node", bearer(enroll.NewNodeSecret().Text), Anonymous, fleet.CodeUnauthenticated},
		{"setup token", bearer(enroll.NewSetupToken().Text), Anonymous, fleet.CodeUnauthenticated},
		{"license code", bearer(enroll.NewLicenseCode().Text), Anonymous, fleet.CodeUnauthenticated},
		{"basic", http.Header{"Authorization": {"Basic YTpi"}}, Anonymous, fleet.CodeUnauthenticated},
		{"two", http.Header{"Authorization": {"Bearer a", "Bearer b"}}, Anonymous, fleet.CodeUnauthenticated},
		{"empty", http.Header{"Authorization": {""}}, Anonymous, fleet.CodeUnauthenticated},
		{"cut", bearer(store.token.Text[:20]), Anonymous, fleet.CodeUnauthenticated},
		{"blank behind", bearer(store.token.Text + " "), Anonymous, fleet.CodeUnauthenticated},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := g.Identify(t.Context(), c.header, here)
			if CodeOf(err) != c.code || p.Kind != c.kind {
				t.Errorf("kind %d, error %v", p.Kind, err)
			}
		})
	}
}

func TestGate_WhatIsOverIsRefused(t *testing.T) {
	past := clockNow
	for name, change := range map[string]func(*knows){
		"expired token": func(k *knows) { k.expires = &past },
		"disabled user": func(k *knows) { k.user.Disabled = true },
		"node has left": func(k *knows) { k.left = true },
	} {
		t.Run(name, func(t *testing.T) {
			store := newKnows()
			change(store)
			g := NewGate(store, func() time.Time { return clockNow })
			secret := store.token.Text
			if store.left {
				secret = store.node.Text
			}
			if _, err := g.Identify(t.Context(), bearer(secret), here); CodeOf(err) != fleet.CodeUnauthenticated {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestGate_GuessingIsHeldBackUnread(t *testing.T) {
	store := newKnows()
	g := NewGate(store, func() time.Time { return clockNow })
	if _, err := g.Identify(t.Context(), bearer(store.token.Text), here); err != nil {
		t.Fatal(err)
	}
	for range guessBurst {
		if _, err := g.Identify(t.Context(), bearer(enroll.NewTokenSecret().Text), here); CodeOf(err) != fleet.CodeUnauthenticated {
			t.Fatalf("error %v", err)
		}
	}
	asked := store.asked
	_, err := g.Identify(t.Context(), bearer(enroll.NewTokenSecret().Text), here)
	if limited, ok := err.(*limit.Error); !ok || limited.RetryAfter <= 0 || limited.RetryAfter > guessRefill {
		t.Errorf("error %v", err)
	}
	if store.asked != asked {
		t.Error("the database was asked for a held back credential")
	}
	if _, err := g.Identify(t.Context(), bearer(store.token.Text), here); err != nil {
		t.Errorf("a right token from the same address is held back: %v", err)
	}
	if _, err := g.Identify(t.Context(), bearer(enroll.NewTokenSecret().Text), netip.MustParseAddr("192.0.2.2")); CodeOf(err) != fleet.CodeUnauthenticated {
		t.Errorf("another address: %v", err)
	}
}
