package wire

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func validHello() Hello {
	return Hello{
		ProtoMin: 1, ProtoMax: 1, AgentVersion: "1.0.0", OS: "linux", Arch: "amd64",
		MachineID: strings.Repeat("ab", 32), BootID: "boot-1", Role: "edge", Region: "eu-west", Backend: "cpu",
		Endpoints: []Pair{{"webrtc", "https://node.example/whep"}},
		Capacity:  Capacity{Slots: 4, Memory: []Amount{{"ram", 2048}}},
		Runners:   []string{"checksum"}, Labels: []Pair{{"rack", "a 1"}},
		Running: []RunningWork{{Job: job, Attempt: 1, Phase: PhaseRunning, Percent: 10}},
	}
}

func TestHello_RefusalNamesTheField(t *testing.T) {
	sane := validHello()
	if err := sane.Validate(); err != nil {
		t.Fatalf("a good hello: %v", err)
	}
	for field, spoil := range map[string]func(*Hello){
		"node_id":               func(h *Hello) { h.NodeID = "Bad Name" },
		"proto_min":             func(h *Hello) { h.ProtoMin = -1 },
		"proto_max":             func(h *Hello) { h.ProtoMax = 0 },
		"machine_id":            func(h *Hello) { h.MachineID = "a b" },
		"boot_id":               func(h *Hello) { h.BootID = "" },
		"last_epoch":            func(h *Hello) { h.LastEpoch = -1 },
		"chain":                 func(h *Hello) { h.Chain = "C0FFEE" },
		"role":                  func(h *Hello) { h.Role = "" },
		"region":                func(h *Hello) { h.Region = "../etc" },
		"backend":               func(h *Hello) { h.Backend = "auto" },
		"endpoints":             func(h *Hello) { h.Endpoints = make([]Pair, MaxPairs+1) },
		"endpoints[0].n":        func(h *Hello) { h.Endpoints[0].Name = "" },
		"endpoints[0].v":        func(h *Hello) { h.Endpoints[0].Value = "javascript://x/%0aalert(1)" },
		"capacity.slots":        func(h *Hello) { h.Capacity.Slots = -1 },
		"capacity.resources[0]": func(h *Hello) { h.Capacity.Resources = []Amount{{"", 1}} },
		"capacity.memory[0].a":  func(h *Hello) { h.Capacity.Memory[0].Amount = -1 },
		"capacity.memory[1].n":  func(h *Hello) { h.Capacity.Memory = []Amount{{"ram", 1}, {"ram", 1}} },
		"runners":               func(h *Hello) { h.Runners = make([]string, MaxRunners+1) },
		"runners[0]":            func(h *Hello) { h.Runners[0] = "rm -rf" },
		"labels[0].n":           func(h *Hello) { h.Labels[0].Name = "a\x1b[31m" },
		"running":               func(h *Hello) { h.Running = make([]RunningWork, MaxRunning+1) },
		"running[0].job":        func(h *Hello) { h.Running[0].Job = strings.ToUpper(job) },
		"running[0].attempt":    func(h *Hello) { h.Running[0].Attempt = 1 << 31 },
		"running[0].phase":      func(h *Hello) { h.Running[0].Phase = "idle" },
		"running[0].percent":    func(h *Hello) { h.Running[0].Percent = 101 },
		"spooled":               func(h *Hello) { h.Spooled = -1 },
	} {
		h := validHello()
		spoil(&h)
		var bad *BadMessage
		if err := h.Validate(); !errors.As(err, &bad) || !strings.HasPrefix(bad.Field, field) || bad.Type != TypeHello {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestEndpoint_IsAnAddressWithoutSecrets(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://a.example/x": true, "rtmp://10.0.0.1:1935/live": true, "srt://[::1]:9000": true,
		"": false, "/relative": false, "a.example:80": false, "data:text/html,x": false, "file:///etc/passwd": false,
		"https://user:secret@a.example": false, "https://a.example/\x1b": false, "https://": false, "https://a/\u202ex": false,
		"https://a.example/" + strings.Repeat("x", MaxURL): false,
	} {
		c := checker{}
		if c.endpoint("v", address); (c.bad == nil) != ok {
			t.Errorf("%.60q: %v", address, c.err())
		}
	}
}

func TestValidate_OthersNameTheField(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for want, m := range map[string]interface{ Validate() error }{
		"heartbeat: spooled":              &Heartbeat{Spooled: -1},
		"heartbeat: health.reasons":       &Heartbeat{Health: Health{Reasons: make([]string, MaxHolds+1)}},
		"heartbeat: load":                 &Heartbeat{LoadMilli: MaxInteger + 1},
		"accept: job":                     &Accept{Job: "1", Attempt: 1},
		"decline: attempt":                &Decline{Job: job},
		"progress: percent":               &Progress{Job: job, Attempt: 1, Percent: -1},
		"result: status":                  &Result{Job: job, Attempt: 1, Status: "ok"},
		"result: reason":                  &Result{Job: job, Attempt: 1, Status: ResultFailed, Reason: "two words"},
		"result: output":                  &Result{Job: job, Attempt: 1, Status: ResultFailed, Head: make([]byte, 40<<10), Tail: make([]byte, 40<<10)},
		"result: outputs[0].n":            &Result{Job: job, Attempt: 1, Status: ResultFailed, Outputs: []Output{{"../x", digest, 1}}},
		"result: outputs[0].digest":       &Result{Job: job, Attempt: 1, Status: ResultFailed, Outputs: []Output{{"x", "md5:1", 1}}},
		"result: run_ms":                  &Result{Job: job, Attempt: 1, Status: ResultFailed, RunMs: -1},
		"inventory: rev":                  &Inventory{Rev: -1},
		"inventory: archs[1]":             &Inventory{Archs: []string{"amd64", "amd64"}},
		"inventory: accelerators[0].kind": &Inventory{Accelerators: []Accelerator{{Name: "card0"}}},
		"inventory: memory[0].total":      &Inventory{Memory: []MemoryDomain{{"ram", "ram", -1}}},
		"inventory: memory[1].n":          &Inventory{Memory: []MemoryDomain{{"ram", "ram", 1}, {"ram", "ram", 1}}},
		"inventory: links":                &Inventory{Links: make([]NodeLink, MaxInventory+1)},
		"inventory: links[0].peer":        &Inventory{Links: []NodeLink{{"../x", "lan", 1}}},
		"inventory: artifact_disk.free":   &Inventory{ArtifactDisk: DiskSpace{Total: 1, Free: 2}},
		"inventory: cached":               &Inventory{Cached: make([]CachedArtifact, MaxCached+1)},
		"inventory: cached[0].digest":     &Inventory{Cached: []CachedArtifact{{"md5:1", 1}}},
		"inventory: commands[0]":          &Inventory{Commands: []string{"rm -rf"}},
		"rotated: id":                     &Rotated{},
		"rotate: id":                      &Rotate{ID: strings.Repeat("x", MaxID+1)},
		"welcome: chain":                  &Welcome{Proto: 1, NodeID: "n", Epoch: 1, Chain: strings.Repeat("a", MaxID+1)},
		"goodbye: kind":                   &Goodbye{},
		"error: code":                     &Error{},
		"refused: retry_after_ms":         &Refused{Code: "x", RetryAfterMs: -1},
		"welcome: proto":                  &Welcome{},
		"heartbeat_ack: lease_ms":         &HeartbeatAck{LeaseMs: -1},
		"heartbeat_ack: holds[0].kind":    &HeartbeatAck{Holds: []Hold{{}}},
		"heartbeat_ack: cancel[0].job":    &HeartbeatAck{Cancel: []CancelRef{{}}},
		"heartbeat_ack: void[0].job":      &HeartbeatAck{Void: []AttemptRef{{}}},
		"heartbeat_ack: reconnect.delay":  &HeartbeatAck{Reconnect: &Reconnect{DelayMs: -1}},
		"offer: app":                      &Offer{Job: job, Attempt: 1},
		"offer: payload.inputs[0].n":      &Offer{Job: job, Attempt: 1, App: "a", Runner: "r", Payload: Payload{Inputs: []Input{{"..", digest, 1}}}},
		"offer: payload.params[0].n":      &Offer{Job: job, Attempt: 1, App: "a", Runner: "r", Payload: Payload{Params: []Pair{{"a b", ""}}}},
		"offer: demands.slots":            &Offer{Job: job, Attempt: 1, App: "a", Runner: "r", Demands: Capacity{Slots: -1}},
		"start: job":                      &Start{},
		"void: job":                       &Void{},
		"result_ack: verdict":             &ResultAck{Job: job, Attempt: 1, Verdict: "ok"},
		"cancel: grace_ms":                &Cancel{Job: job, Attempt: 1, GraceMs: -1},
	} {
		if err := m.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

func TestAttack_A46_TextIsCleanedAtIngest(t *testing.T) {
	for dirty, want := range map[string]string{
		"plain Text 1.0":              "plain Text 1.0",
		"\x1b[31mred\x1b[0m":          "[31mred[0m",
		"\x1b]0;title\x07":            "]0;title",
		"a\x00b\x7fc":                 "abc",
		"\u009b31m":                   "31m",
		"\u202egnp.exe\u2066":         "gnp.exe",
		"zero\u200bwidth\ufeff":       "zerowidth",
		"two\nlines\tand\r\u2028more": "two lines and  more",
		"bad \xff\xfe utf":            "bad \uFFFD utf",
		"naïve 日本 🦀":                  "naïve 日本 🦀",
	} {
		if got := CleanText(dirty, 100); got != want {
			t.Errorf("%q became %q, want %q", dirty, got, want)
		}
	}
	for c := range rune(0xa0) {
		if got := CleanText(string(c), 9); (c < 0x20 || c >= 0x7f) && strings.TrimSpace(got) != "" {
			t.Errorf("%#x stayed as %q", c, got)
		}
	}
	h := validHello()
	h.AgentVersion = "1\x1b[2J" + strings.Repeat("v", 99)
	h.Labels[0].Value = "x\x9by\n"
	if err := h.Validate(); err != nil || h.AgentVersion[:6] != "1[2Jvv" || len(h.AgentVersion) != MaxID {
		t.Errorf("%v, %q", err, h.AgentVersion)
	}
	if h.Labels[0].Value != "x\uFFFDy " {
		t.Errorf("label %q", h.Labels[0].Value)
	}
}

func TestCleanText_CutsBetweenCharacters(t *testing.T) {
	for limit, want := range []string{"", "a", "a", "aé", "aé", "aé", "aé日"} {
		if got := CleanText("aé日", limit); got != want {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
}

func TestAttack_A01_WhatClaimsAuthority(t *testing.T) {
	for _, name := range []string{
		"pool", "poolId", "pool_id", "POOL-ID", "PoolID", "userId", "user_id", "ownerId", "owner_id",
		"rockpool.pool", "Rockpool.Region", "rockpool/x", "pool.name", "pool/7",
	} {
		if !ClaimsAuthority(name) {
			t.Errorf("%s claims nothing", name)
		}
	}
	for _, name := range []string{"", "poolside", "user", "rack", "carpool", "rockpools", "node_id", "role"} {
		if ClaimsAuthority(name) {
			t.Errorf("%s claims authority", name)
		}
	}
	kept, claims := SplitLabels([]Pair{{"rack", "1"}, {"poolId", "2"}, {"rockpool.x", "3"}})
	if len(kept) != 1 || !slices.Equal(claims, []string{"poolId", "rockpool.x"}) {
		t.Errorf("kept %v, claims %v", kept, claims)
	}
}

func TestCloseCode_SaysWhatItIs(t *testing.T) {
	for code, want := range map[CloseCode]string{CloseRevoked: "4003 revoked", CloseTooBig: "1009 frame too big", 4999: "4999"} {
		if code.String() != want {
			t.Errorf("got %q, want %q", code, want)
		}
	}
	if CloseRevoked.RetryAfter() != time.Hour || CloseShutdown.RetryAfter() != 0 || CloseCode(4999).RetryAfter() != 0 {
		t.Error("the waits are wrong")
	}
}
