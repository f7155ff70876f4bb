package enroll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"rockpool/backend/internal/limit"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// ledger stands for the store: licenses and nodes by the sums of their secrets.
// It writes down every argument, as a dump of the database would show them.
type ledger struct {
	nodes    map[Sum]fleet.NodeRecord
	licenses map[Sum]record.License
	put      []fleet.NodeRecord
	lookups  int
	seats    int
	saw      strings.Builder
	down     bool
}

func newLedger() *ledger {
	return &ledger{nodes: map[Sum]fleet.NodeRecord{}, licenses: map[Sum]record.License{}}
}

var errMissing = fleet.Errorf(fleet.CodeNotFound, "no such row")

func (l *ledger) MembersBySecret(_ context.Context, secrets []Sum) (map[Sum]record.Member, error) {
	found := map[Sum]record.Member{}
	for _, secret := range secrets {
		l.lookups++
		fmt.Fprintf(&l.saw, "%x\n", secret)
		if node, ok := l.nodes[secret]; ok && !node.Left {
			found[secret] = l.member(node, secret)
		}
	}
	if l.down {
		return nil, fleet.Errorf(fleet.CodeUnavailable, "the database is away")
	}
	return found, nil
}

func (l *ledger) member(node fleet.NodeRecord, secret Sum) record.Member {
	m := record.Member{ID: node.ID, Role: node.Role, MaxSlots: node.MaxSlots, Next: node.Identity.NextSecret == secret}
	for _, license := range l.licenses {
		if license.ID == node.License {
			m.MaxSlots = license.MaxSlots
		}
	}
	return m
}

func (l *ledger) Node(_ context.Context, id string) (record.Node, error) {
	for _, node := range l.nodes {
		if node.ID == id {
			return record.Node{NodeRecord: node}, nil
		}
	}
	return record.Node{}, errMissing
}

func (l *ledger) LicenseBySum(_ context.Context, code Sum) (record.License, error) {
	fmt.Fprintf(&l.saw, "%x\n", code)
	license, ok := l.licenses[code]
	if !ok {
		return record.License{}, errMissing
	}
	return license, nil
}

func (l *ledger) RegisterNode(_ context.Context, actor record.Actor, license, wish, role string, secret Sum, machine string) (record.Node, error) {
	fmt.Fprintln(&l.saw, actor, license, wish, role, secret, machine)
	l.seats++
	node := fleet.NodeRecord{ID: wish, Owner: 7, Pool: fleet.OwnerPool(7), Role: role, License: license}
	l.nodes[secret] = node
	return record.Node{NodeRecord: node}, nil
}

func (l *ledger) PutNode(_ context.Context, node fleet.NodeRecord) error {
	l.put = append(l.put, node)
	return nil
}

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newTestDesk(l *ledger) (*Desk, *clock) {
	c := &clock{at: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	return NewDesk(l, l, slog.New(slog.DiscardHandler), c.now), c
}

func code(err error) fleet.Code {
	var known *fleet.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

var home = netip.MustParseAddr("198.51.100.7")

func withLicense(l *ledger, roles ...string) Secret {
	c := NewLicenseCode()
	l.licenses[c.Sum] = record.License{ID: "lic-1", User: 7, Roles: roles, Nodes: 10, MaxSlots: 8}
	return c
}

func TestRegister_FirstTakesASeatAndALostAnswerDoesNot(t *testing.T) {
	l := newLedger()
	desk, _ := newTestDesk(l)
	license, secret := withLicense(l, "worker", "edge"), NewNodeSecret()
	shown := Presented{Kind: KindLicense, Secret: secret.Sum, License: license.Sum}
	for range 3 {
		c, err := desk.Identify(t.Context(), shown, home)
		if err != nil {
			t.Fatal(err)
		}
		r, err := desk.Register(t.Context(), c, Claim{NodeID: "ams-1", Role: "edge", Capacity: fleet.Vector{Slots: 60}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Node.ID != "ams-1" || r.Node.Role != "edge" || r.IgnoredRole != "" {
			t.Errorf("registered %+v", r)
		}
		if r.Capacity.Slots != 8 {
			t.Errorf("60 claimed slots became %d, want the license's 8", r.Capacity.Slots)
		}
	}
	if l.seats != 1 || len(l.put) != 3 {
		t.Errorf("seats %d (want 1), told the loop %d times (want 3)", l.seats, len(l.put))
	}
}

// A request for another secret may have ended between its commit and its answer:
// the loop hears of the secret from who shows it.
func TestAttack_A43_ANextSecretIsToldToTheLoop(t *testing.T) {
	l := newLedger()
	desk, _ := newTestDesk(l)
	own, next := NewNodeSecret(), NewNodeSecret()
	node := fleet.NodeRecord{ID: "ams-1", Owner: 7, Pool: fleet.OwnerPool(7), Role: "worker"}
	node.Identity.Rotation, node.Identity.NextSecret = "r-1", next.Sum
	l.nodes[own.Sum], l.nodes[next.Sum] = node, node
	for told, secret := range []Secret{own, next} {
		c, err := desk.Identify(t.Context(), Presented{Kind: KindNode, Secret: secret.Sum}, home)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := desk.Register(t.Context(), c, Claim{}); err != nil {
			t.Fatal(err)
		}
		if len(l.put) != told {
			t.Errorf("the loop was told %d times, want %d", len(l.put), told)
		}
	}
}

func TestRegister_TheRecordsRoleWins(t *testing.T) {
	l := newLedger()
	desk, _ := newTestDesk(l)
	secret := NewNodeSecret()
	l.nodes[secret.Sum] = fleet.NodeRecord{ID: "ams-1", Pool: "pool-7", Role: "edge"}
	c, err := desk.Identify(t.Context(), Presented{Kind: KindNode, Secret: secret.Sum}, home)
	if err != nil {
		t.Fatal(err)
	}
	r, err := desk.Register(t.Context(), c, Claim{NodeID: "other", Role: "origin", Capacity: fleet.Vector{Slots: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Node.ID != "ams-1" || r.Node.Role != "edge" || r.IgnoredRole != "origin" || r.Capacity.Slots != fleet.MaxSlots {
		t.Errorf("%+v", r)
	}
	if len(l.put) != 0 || l.seats != 0 {
		t.Errorf("a known node was registered again: put %d, seats %d", len(l.put), l.seats)
	}
}

func TestRegister_RefusesByLicense(t *testing.T) {
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := []struct {
		name    string
		license record.License
		role    string
		want    fleet.Code
	}{
		{"revoked", record.License{Roles: []string{"edge"}, RevokedAt: &past}, "edge", fleet.CodeLicenseRefused},
		{"expired", record.License{Roles: []string{"edge"}, ExpiresAt: &past}, "edge", fleet.CodeLicenseRefused},
		{"role not in it", record.License{Roles: []string{"edge"}}, "origin", fleet.CodeLicenseRefused},
		{"no roles", record.License{}, "", fleet.CodeLicenseRefused},
	}
	for _, c := range cases {
		l := newLedger()
		desk, _ := newTestDesk(l)
		_, err := desk.Register(t.Context(), Credential{Kind: KindLicense, License: c.license}, Claim{Role: c.role})
		if code(err) != c.want || l.seats != 0 || desk.Counts().Wrong != 1 {
			t.Errorf("%s: %v, seats %d", c.name, err, l.seats)
		}
	}
}

func TestIdentify_ANodeThatLeftComesBackByALicenseOnly(t *testing.T) {
	l := newLedger()
	desk, _ := newTestDesk(l)
	license, secret := withLicense(l, "edge"), NewNodeSecret()
	l.nodes[secret.Sum] = fleet.NodeRecord{ID: "ams-1", Role: "edge", Left: true}
	if _, err := desk.Identify(t.Context(), Presented{Kind: KindNode, Secret: secret.Sum}, home); code(err) != fleet.CodeUnauthenticated {
		t.Errorf("by its own secret: %v", err)
	}
	c, err := desk.Identify(t.Context(), Presented{Kind: KindLicense, Secret: secret.Sum, License: license.Sum}, home)
	if err != nil || c.Known || c.License.ID != "lic-1" {
		t.Errorf("with a license: %+v, %v", c, err)
	}
	if _, err := desk.Identify(t.Context(), Presented{Kind: KindLicense, Secret: secret.Sum}, home); code(err) != fleet.CodeUnauthenticated {
		t.Errorf("with a wrong license: %v", err)
	}
}

func TestAdmit_ARevokedSecretIsNoPassAnyMore(t *testing.T) {
	l := newLedger()
	desk, _ := newTestDesk(l)
	secret := NewNodeSecret()
	p := Presented{Kind: KindNode, Secret: secret.Sum}
	l.nodes[secret.Sum] = fleet.NodeRecord{ID: "ams-1"}
	if _, err := show(t, desk, p, home); err != nil {
		t.Fatal(err)
	}
	delete(l.nodes, secret.Sum)
	_ = guess(t, desk, home, attemptBurst)
	_, _ = show(t, desk, p, home)
	var limited *limit.Error
	if _, err := show(t, desk, p, home); !errors.As(err, &limited) {
		t.Errorf("the revoked secret passes the limit: %v", err)
	}
}

func TestIdentify_SaysUnavailableAndCountsNothingWhenTheDatabaseIsAway(t *testing.T) {
	l := newLedger()
	l.down = true
	desk, _ := newTestDesk(l)
	_, err := desk.Identify(t.Context(), Presented{Kind: KindNode}, home)
	if code(err) != fleet.CodeUnavailable || desk.Counts() != (Counts{}) {
		t.Errorf("%v, %+v", err, desk.Counts())
	}
}

// show presents a credential as the channel does.
func show(t *testing.T, desk *Desk, p Presented, from netip.Addr) (Credential, error) {
	t.Helper()
	if err := desk.Admit(p, from); err != nil {
		return Credential{}, err
	}
	return desk.Identify(t.Context(), p, from)
}

// guess shows n wrong secrets from one address and returns the last error.
func guess(t *testing.T, desk *Desk, from netip.Addr, n int) error {
	t.Helper()
	var err error
	for range n {
		if _, err = show(t, desk, Presented{Kind: KindNode, Secret: NewNodeSecret().Sum}, from); err == nil {
			t.Fatal("a wrong secret was taken")
		}
	}
	return err
}

func TestCase_N45_WrongSecretsAreHeldBackAndTheLiveNodeIsNot(t *testing.T) {
	l := newLedger()
	desk, clock := newTestDesk(l)
	secret := NewNodeSecret()
	l.nodes[secret.Sum] = fleet.NodeRecord{ID: "ams-1", Role: "edge"}
	owner := Presented{Kind: KindNode, Secret: secret.Sum}
	if _, err := show(t, desk, owner, home); err != nil {
		t.Fatal(err)
	}

	if err := guess(t, desk, home, attemptBurst); code(err) != fleet.CodeUnauthenticated {
		t.Fatalf("within the allowance: %v", err)
	}
	before := l.lookups
	var limited *limit.Error
	if err := guess(t, desk, home, 100); !errors.As(err, &limited) || limited.RetryAfter <= 0 || limited.RetryAfter > attemptRefill {
		t.Fatalf("past the allowance: %v", err)
	}
	if l.lookups != before {
		t.Errorf("%d held-back secrets reached the database", l.lookups-before)
	}
	if got, want := desk.Counts(), (Counts{Wrong: attemptBurst, Limited: 100}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}

	// The owner behind the same address, and everybody else, are as before.
	if c, err := show(t, desk, owner, home); err != nil || c.Node.ID != "ams-1" {
		t.Errorf("the live node's own secret: %+v, %v", c, err)
	}
	if err := guess(t, desk, netip.MustParseAddr("203.0.113.9"), 1); code(err) != fleet.CodeUnauthenticated {
		t.Errorf("another address: %v", err)
	}
	clock.at = clock.at.Add(attemptRefill)
	if err := guess(t, desk, home, 1); code(err) != fleet.CodeUnauthenticated {
		t.Errorf("after the wait: %v", err)
	}
}

func TestAttack_A38_SecretsAreLookedUpBySumAlone(t *testing.T) {
	l := newLedger()
	desk, _ := newTestDesk(l)
	license, secret := withLicense(l, "edge"), NewNodeSecret()
	p, err := Present(headers("Authorization", "License "+license.Text, "Rockpool-Node-Secret", secret.Text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := desk.Identify(t.Context(), p, home)
	if err != nil {
		t.Fatal(err)
	}
	r, err := desk.Register(t.Context(), c, Claim{NodeID: "ams-1"})
	if err != nil {
		t.Fatal(err)
	}
	seen := l.saw.String() + fmt.Sprintf("%+v %+v %+v", p, c, r)
	for _, s := range []Secret{license, secret} {
		if strings.Contains(seen, s.Text) {
			t.Errorf("a secret's text went past the shape check")
		}
	}
	if !strings.Contains(l.saw.String(), fmt.Sprintf("%x", secret.Sum)) {
		t.Error("the look-up is not by the SHA-256 of the secret")
	}
}

func TestRegister_ClampsToWhatTheRecordAllows(t *testing.T) {
	l := newLedger()
	desk, _ := newTestDesk(l)
	for most, want := range map[int64]int64{3: 3, 0: fleet.MaxSlots, 1000: fleet.MaxSlots} {
		node := record.Member{ID: "rack-1", Role: "worker", MaxSlots: most}
		r, err := desk.Register(t.Context(), Credential{Known: true, Node: node}, Claim{Capacity: fleet.Vector{Slots: fleet.MaxSlots + 1}})
		if err != nil || r.Capacity.Slots != want {
			t.Errorf("%d allowed: %d slots, %v", most, r.Capacity.Slots, err)
		}
	}
}
