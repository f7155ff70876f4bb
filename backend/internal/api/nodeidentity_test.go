package api

import (
	"net/http"
	"strings"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func TestNode_ShowsItsClaimantsAndNoRotation(t *testing.T) {
	w := newWorld(t)
	n := w.nodes["node-7"]
	n.Identity = fleet.Identity{
		Keep: "bbbb0002", Rotation: "known-to-the-node-alone", NextSecret: fleet.Sum{7}, Current: fleet.Sum{8},
		Claimants: []fleet.Claimant{
			{ID: "aaaa0001", Address: "192.0.2.1", MachineID: "m1", BootID: "b1", AgentVersion: "1.0", Seen: 5, Holder: true},
			{ID: "bbbb0002", Address: "192.0.2.2", Seen: 6},
		},
	}
	rec := w.asUser(root, http.MethodGet, "/v1/nodes/node-7", "")
	doc := read[rest.Node](t, rec)
	if len(doc.Claimants) != 2 || !doc.Claimants[0].Holder || doc.Claimants[1].Address != "192.0.2.2" || doc.Keep != "bbbb0002" || !doc.Rotating {
		t.Fatalf("%+v", doc)
	}
	if doc.RotatedAt == nil || doc.Seat == nil || *doc.Seat != (rest.Seat{Number: 6, Of: 20}) {
		t.Fatalf("its secret changed at %v, its seat is %+v", doc.RotatedAt, doc.Seat)
	}
	if vera := read[rest.Node](t, w.asUser(vera, http.MethodGet, "/v1/nodes/node-7", "")); vera.Seat == nil {
		t.Error("who sees every license sees the seat")
	}
	if strings.Contains(rec.Body.String(), "known-to") {
		t.Fatal("whoever reads the node may put its next secret")
	}
}

func TestPutNodeSecret(t *testing.T) {
	w := newWorld(t)
	w.nodes["node-7"].Identity.Rotation = "rot-1"
	good := strings.Repeat("B", 42) + "A"
	for body, want := range map[string]int{
		`{"id":"rot-1","secret":"` + good + `"}`:                 204,
		`{"id":"rot-2","secret":"` + good + `"}`:                 409,
		`{"id":"","secret":"` + good + `"}`:                      409,
		`{"id":"rot-1","secret":"short"}`:                        400,
		`{"id":"rot-1"}`:                                         400,
		`{"id":"rot-1","secret":"` + good + `","node":"node-8"}`: 400,
	} {
		if rec := w.ask("node", http.MethodPut, "/v1/node/secret", body); rec.Code != want {
			t.Errorf("%s: %d %s, want %d", body, rec.Code, rec.Body, want)
		}
	}
	if w.nodes["node-7"].Identity.NextSecret == (fleet.Sum{}) || w.nodes["node-8"].Identity.NextSecret != (fleet.Sum{}) {
		t.Error("the secret is not the asking node's")
	}
}

func TestRepair_NeedsAClaimant(t *testing.T) {
	w := newWorld(t)
	w.nodes["node-7"].Identity.Claimants = []fleet.Claimant{{ID: "aaaa0001"}}
	for body, want := range map[string]int{`{"keep":"aaaa0001"}`: 200, `{"keep":""}`: 400, `{}`: 400, `{"keep":"nobody00"}`: 409} {
		if rec := w.asUser(root, http.MethodPost, "/v1/admin/nodes/node-7/repair", body); rec.Code != want {
			t.Errorf("%s: %d %s, want %d", body, rec.Code, rec.Body, want)
		}
	}
}
