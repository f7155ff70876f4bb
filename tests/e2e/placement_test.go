package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// cdnNode starts an agent of a role, with endpoints as the document has them.
func (u *tenant) cdnNode(name, role string, endpoints ...string) *rig.Agent {
	u.t.Helper()
	license, err := u.s.Admin.CreateLicense(u.t.Context(), backendtest.LicenseRequest{User: u.id, Roles: []string{role}})
	if err != nil {
		u.t.Fatal(err)
	}
	more := fmt.Sprintf("builtins = [\"checksum\"]\nrole = %q\n[endpoints]\n", role)
	for i := 0; i < len(endpoints); i += 2 {
		more += fmt.Sprintf("%s = %q\n", endpoints[i], strings.ReplaceAll(endpoints[i+1], "NAME", name))
	}
	return rig.NewAgent(u.t, u.s, rig.AgentOptions{Name: u.name + "-" + name, License: license.LicenseCode, Slots: 8, More: more})
}

func (u *tenant) origin(n int) *rig.Agent {
	u.t.Helper()
	return u.cdnNode(fmt.Sprintf("ams-origin-%d", n), "origin", "whip", "https://NAME.example.net/whip", "srt", "srt://NAME.example.net:9710")
}

func (u *tenant) place(role, key string) backendtest.Placement {
	u.t.Helper()
	placed, err := u.client.Place(u.t.Context(), backendtest.PlacementRequest{App: u.app, Role: role, Key: key, Slots: new(int64(1))}, "")
	if err != nil {
		u.t.Fatalf("place %s: %v", key, err)
	}
	return placed
}

var block = regexp.MustCompile("(?s)```(sh|json)\n(.*?)```")

// The examples of docs/placements.md are run as they stand there, and answer what
// stands there: curl, then what it answers, then the command line's words.
func TestPlacements_TheDocumentsExamples(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	for n := range 2 {
		u.origin(n + 1)
	}
	for n := range 3 {
		u.cdnNode(fmt.Sprintf("ams-edge-%d", n+1), "edge", "play", "https://NAME.example.net")
	}
	document, err := os.ReadFile(filepath.Join(rig.Root(), "docs", "placements.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := block.FindAllStringSubmatch(string(document), -1)
	if len(blocks) != 12 {
		t.Fatalf("%d blocks, want three for each of the four entry points", len(blocks))
	}
	var answered string
	for i, b := range blocks {
		if b[1] == "json" {
			u.likeExample(b[2], answered)
			continue
		}
		if answered = u.runExample(b[2]); i%3 == 2 && !strings.Contains(answered, u.app) {
			t.Errorf("%s says %s", b[2], answered)
		}
	}
}

// runExample runs a block of the document's shell for the tenant.
func (u *tenant) runExample(script string) string {
	u.t.Helper()
	command := exec.CommandContext(u.t.Context(), "/bin/sh", "-ec", strings.ReplaceAll(script, "live-7", u.app))
	command.Env = append(os.Environ(), "ROCKPOOL_SERVER="+u.s.URL, "ROCKPOOL_TOKEN="+u.token, "ROCKPOOL_CREDENTIALS="+filepath.Join(u.t.TempDir(), "credentials"),
		"PATH="+filepath.Dir(rig.Binary(u.t, "rockpool"))+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		u.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// likeExample compares an answer with the document's, but for what is another each time.
func (u *tenant) likeExample(example, answered string) {
	u.t.Helper()
	var want, got backendtest.Placement
	for text, into := range map[string]*backendtest.Placement{example: &want, answered: &got} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			u.t.Fatalf("%v: %s", err, text)
		}
	}
	if got.ID == "" || got.App != u.app || !got.ExpiresAt.After(got.CreatedAt.Time) {
		u.t.Errorf("answered %s", answered)
	}
	want.ID, want.App, want.CreatedAt, want.ExpiresAt = got.ID, got.App, got.CreatedAt, got.ExpiresAt
	for i := range want.Nodes {
		want.Nodes[i].ID, want.Nodes[i].Pool = u.name+"-"+want.Nodes[i].ID, u.pool()
	}
	if !reflect.DeepEqual(got, want) {
		u.t.Errorf("answered %+v\nthe document says %+v", got, want)
	}
}

// A stream stays on its origin as long as its placement lasts.
func TestPlacements_AStreamHasOneOrigin(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	first, second := u.origin(1), u.origin(2)
	const requests, clients = 1000, 8
	ids, nodes := sync.Map{}, sync.Map{}
	var asking sync.WaitGroup
	for range clients {
		asking.Go(func() {
			for range requests / clients {
				placed, err := u.client.Place(t.Context(), backendtest.PlacementRequest{App: u.app, Role: "origin", Key: "stream-42", Slots: new(int64(1))}, "")
				if err != nil {
					t.Errorf("place: %v", err)
					return
				}
				ids.Store(placed.ID, nil)
				nodes.Store(placed.Nodes[0].ID, nil)
			}
		})
	}
	asking.Wait()
	if a, b := keysOf(&ids), keysOf(&nodes); len(a) != 1 || len(b) != 1 || b[0] != first.Name {
		t.Fatalf("placements %v on %v", a, b)
	}
	if _, sql := u.reserved(first.Name); sql != 1 {
		t.Errorf("%d slots are reserved for a thousand requests", sql)
	}
	u.drain(first.Name, 0)
	stays := u.place("origin", "stream-42")
	if stays.State != "draining" || stays.Nodes[0].ID != first.Name {
		t.Errorf("the origin is drained: %+v", stays)
	}
	next := u.place("origin", "stream-43")
	if next.State != "active" || next.Nodes[0].ID != second.Name || next.Nodes[0].Pool != u.pool() || next.Fallback {
		t.Errorf("the next key: %+v", next)
	}
	if released, err := u.client.ReleasePlacement(t.Context(), stays.ID); err != nil || released.State != "released" {
		t.Fatalf("%+v, %v", released, err)
	}
	if moved := u.place("origin", "stream-42"); moved.ID == stays.ID || moved.Nodes[0].ID != second.Name {
		t.Errorf("the key after its release: %+v", moved)
	}
	if _, sql := u.reserved(first.Name); sql != 0 {
		t.Errorf("%d slots are left reserved", sql)
	}
}

func keysOf(m *sync.Map) (list []string) {
	m.Range(func(key, _ any) bool {
		list = append(list, key.(string))
		return true
	})
	return list
}

func TestPlacements_EdgesAreDistinctAndAllOrNone(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	names := map[string]bool{}
	for n := range 3 {
		names[u.cdnNode(fmt.Sprintf("edge-%d", n), "edge", "play", "https://NAME").Name] = true
	}
	body := func(count int) string {
		return fmt.Sprintf(`{"app": %q, "role": "edge", "slots": 1, "count": %d}`, u.app, count)
	}
	var placed backendtest.Placement
	if a := ask(t, u.s, u.token, "POST", "/v1/placements", body(3)); a.Status != 201 {
		t.Fatalf("%d %s", a.Status, a.Body)
	} else {
		a.read(t, &placed)
	}
	for _, n := range placed.Nodes {
		if !names[n.ID] || n.Endpoints["play"] == "" {
			t.Errorf("node %+v stands there twice, or is none of these", n)
		}
		delete(names, n.ID)
	}
	four := ask(t, u.s, u.token, "POST", "/v1/placements", body(4))
	four.refused(t, "four of three", 503, "pool_exhausted")
	if reserved := query[int64](t, u.s, `SELECT sum(reserved_slots)::bigint FROM nodes WHERE owner_id = $1::bigint`, u.id); reserved != 3 {
		t.Errorf("%d slots are reserved", reserved)
	}
	none := ask(t, u.s, u.token, "POST", "/v1/placements", fmt.Sprintf(`{"app": %q, "role": "recorder"}`, u.app))
	none.refused(t, "a role that nobody has", 503, "pool_exhausted")
	if !reflect.DeepEqual(none.Problem.Reasons, []backendtest.Reason{{Pool: u.pool(), Reason: "role", Nodes: 3}}) {
		t.Errorf("reasons %+v", none.Problem.Reasons)
	}
}

func TestPlacements_AtItsQuotaAnAppIsToldWhen(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	node := u.origin(1)
	share := backendtest.ShareRequest{Share: backendtest.Share{Weight: 100, MaxPlacements: 2}, Reason: "test"}
	if app, err := u.s.Admin.SetShare(t.Context(), u.app, share, 0); err != nil || app.Share != share.Share {
		t.Fatalf("%+v, %v", app, err)
	}
	one := u.place("origin", "one")
	u.place("origin", "two")
	body := fmt.Sprintf(`{"app": %q, "role": "origin", "key": "three", "slots": 1}`, u.app)
	third := ask(t, u.s, u.token, "POST", "/v1/placements", body)
	third.refused(t, "the third", http.StatusTooManyRequests, "rate_limited")
	if third.Header.Get("Retry-After") == "" {
		t.Errorf("headers %v", third.Header)
	}
	if again := u.place("origin", "one"); again.ID != one.ID {
		t.Errorf("what it has is not its own any more: %+v", again)
	}
	for filter, want := range map[backendtest.PlacementFilter]int{{Node: node.Name}: 2, {Node: "nowhere"}: 0, {Key: "one", App: u.app, State: "active"}: 1} {
		if list, err := u.client.Placements(t.Context(), filter, backendtest.Page{}); err != nil || len(list.Items) != want {
			t.Errorf("%+v: %+v, %v", filter, list.Items, err)
		}
	}
	if _, err := u.client.ReleasePlacement(t.Context(), one.ID); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, u.s, u.token, "POST", "/v1/placements", body); a.Status != 201 {
		t.Errorf("after a release: %d %s", a.Status, a.Body)
	}
}

// A placement and its key outlive the server.
func TestPlacements_OutliveTheServer(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, enduring...)
	u := newTenant(t, s)
	n := u.origin(1)
	before := u.place("origin", "stream-42")
	s.Kill(t)
	s.Start(t)
	n.AwaitLease(t, s, "ready")
	after := u.place("origin", "stream-42")
	if after.ID != before.ID || after.State != "active" || !reflect.DeepEqual(after.Nodes, before.Nodes) {
		t.Errorf("it was %+v\nand is %+v", before, after)
	}
	if memory, sql := u.reserved(n.Name); memory != 1 || sql != 1 {
		t.Errorf("%d slots in memory, %d in the database", memory, sql)
	}
	if renewed, err := u.client.RenewPlacement(t.Context(), before.ID, nil); err != nil || !renewed.ExpiresAt.After(before.ExpiresAt.Time) {
		t.Errorf("%+v, %v", renewed, err)
	}
}
