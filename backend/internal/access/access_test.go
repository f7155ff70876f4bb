package access

import (
	"context"
	"net/http"
	"net/netip"
	"reflect"
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

// fleetWide grants the subjects for every pool.
func fleetWide(subjects ...string) []Grant {
	grants := make([]Grant, len(subjects))
	for i, subject := range subjects {
		grants[i] = Grant{Subject: subject, Pool: EveryPool}
	}
	return grants
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
		if got := p.Decide(fleetWide(c.subjects...), c.object, c.action); !got.None() {
			t.Errorf("%v may %s %s with scope %+v", c.subjects, c.action, c.object, got)
		}
	}
}

func TestPolicy_TheScopesOfTheRolesAddUp(t *testing.T) {
	p := newPolicy(t)
	a, b := Grant{Subject: "role:viewer", Pool: "pool-a"}, Grant{Subject: "role:operator", Pool: "pool-b"}
	user, viewer := fleetWide("role:user")[0], fleetWide("role:viewer")[0]
	for _, c := range []struct {
		grants         []Grant
		object, action string
		want           Scope
	}{
		{[]Grant{user}, "job", "read", Scope{Own: true}},
		{[]Grant{user, viewer}, "job", "read", Scope{All: true}},
		{[]Grant{viewer, user}, "job", "read", Scope{All: true}},
		{[]Grant{a, viewer}, "job", "read", Scope{All: true}},
		{fleetWide("role:superadmin"), "job", "read", Scope{All: true}},
		{[]Grant{b, a, a}, "node", "read", Scope{Pools: []string{"pool-a", "pool-b"}}},
		{[]Grant{user, a}, "node", "read", Scope{Own: true, Pools: []string{"pool-a"}}},
		{[]Grant{a, b}, "node", "drain", Scope{Pools: []string{"pool-b"}}},
		{[]Grant{a}, "node", "cordon", Scope{}},
		{[]Grant{a, b}, "node", "move", Scope{}},
		{[]Grant{a}, "session", "read", Scope{Own: true}},
	} {
		if got := p.Decide(c.grants, c.object, c.action); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v %s %s: %+v, want %+v", c.grants, c.action, c.object, got, c.want)
		}
	}
}

// A rule for everything gives nothing to who has the role for one pool alone.
func TestPolicy_ANarrowGrantNeverGivesEverything(t *testing.T) {
	p := newPolicy(t)
	for _, rule := range p.enforcer.GetModel()["p"]["p"].Policy {
		narrow := []Grant{{Subject: rule[0], Pool: "pool-a"}}
		if got := p.Decide(narrow, rule[1], rule[2]); got.All {
			t.Errorf("%v granted for pool-a: %+v", rule, got)
		}
	}
}

func TestPolicy_AnErrorDenies(t *testing.T) {
	p := newPolicy(t)
	p.enforcer.ClearPolicy()
	p.enforcer.GetModel()["m"]["m"].Value = "r.sub == nosuch("
	if got := p.Decide(fleetWide("role:superadmin"), "job", "read"); !got.None() {
		t.Errorf("a broken model lets through with scope %+v", got)
	}
}

func TestPrincipal_UnknownRolesAreNone(t *testing.T) {
	p := Principal{Kind: ByToken, User: record.User{
		ID: 7, Roles: []string{"user", "node", "anonymous", "root"},
		Grants: []record.Grant{{Role: "viewer", Pool: "pool-a"}, {Role: "superadmin", Pool: "pool-a"}, {Role: "user", Pool: "pool-a"}, {Role: "operator", Pool: "*"}},
	}}
	if got := p.Grants(); !slices.Equal(got, []Grant{{"role:user", EveryPool}, {"role:viewer", "pool-a"}}) {
		t.Errorf("grants %v", got)
	}
}

// The filter of a scope lets through exactly what the scope says.
func TestScope_FilterIsNeverWiderThanTheScope(t *testing.T) {
	for _, c := range []struct {
		scope                 Scope
		owned, pooled, others bool
	}{
		{Scope{All: true}, true, true, true},
		{Scope{Own: true}, true, false, false},
		{Scope{Pools: []string{"pool-a"}}, false, true, false},
		{Scope{Own: true, Pools: []string{"pool-a"}}, true, true, false},
		{Scope{}, false, false, false},
	} {
		rows := c.scope.Of(7)
		if rows.Sees(7, "pool-z") != c.owned || rows.Sees(8, "pool-a") != c.pooled || rows.Sees(8, "pool-z") != c.others || rows.Sees(0, "") != c.others {
			t.Errorf("%+v gives the filter %+v", c.scope, rows)
		}
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
