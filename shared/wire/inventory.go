package wire

import (
	"fmt"
	"slices"
)

// Accelerator is one device that work can use beside the processor. Kind is a
// word such as gpu, video or npu, Model a text for people.
type Accelerator struct {
	Name  string `msgpack:"n"`
	Kind  string `msgpack:"kind"`
	Model string `msgpack:"model,omitempty"`
}

// MemoryDomain is memory that is shared by what stands in it: ram, or the memory
// of one accelerator.
type MemoryDomain struct {
	Name  string `msgpack:"n"`
	Kind  string `msgpack:"kind"`
	Total int64  `msgpack:"total"` // MiB
}

// NodeLink is a way from this node to another one.
type NodeLink struct {
	Peer      string `msgpack:"peer"` // node id
	Kind      string `msgpack:"kind"`
	Bandwidth int64  `msgpack:"bandwidth"` // Mbit/s
}

// DiskSpace of the directory that keeps artifacts, in MiB.
type DiskSpace struct {
	Total int64 `msgpack:"total"`
	Free  int64 `msgpack:"free"`
}

// CachedArtifact is a file that the node keeps; Size in bytes.
type CachedArtifact struct {
	Digest string `msgpack:"digest"`
	Size   int64  `msgpack:"size"`
}

// Inventory is what a node has, beside what hello claims: after welcome, and when
// it changed. Rev rises with each change. It is for people and for planning, and
// admits nothing. Stale: a part could not be collected and says what
// it said before.
type Inventory struct {
	Rev          int64            `msgpack:"rev"`
	Platform     string           `msgpack:"platform"`
	Archs        []string         `msgpack:"archs"`
	Accelerators []Accelerator    `msgpack:"accelerators,omitempty"`
	Memory       []MemoryDomain   `msgpack:"memory,omitempty"`
	Links        []NodeLink       `msgpack:"links,omitempty"`
	ArtifactDisk DiskSpace        `msgpack:"artifact_disk"`
	Cached       []CachedArtifact `msgpack:"cached,omitempty"`
	Commands     []string         `msgpack:"commands,omitempty"`
	Isolation    []string         `msgpack:"isolation,omitempty"` // what keeps jobs apart: user, cgroup, memory, processes
	Stale        bool             `msgpack:"stale,omitempty"`
}

// Validate cleans and checks; see Hello.Validate.
func (m *Inventory) Validate() error {
	c := checker{kind: TypeInventory}
	c.count("rev", m.Rev)
	m.Platform = CleanText(m.Platform, MaxText)
	c.tokens("archs", m.Archs)
	c.accelerators(m.Accelerators)
	c.domains(m.Memory)
	c.links(m.Links)
	c.count("artifact_disk.total", m.ArtifactDisk.Total)
	c.within("artifact_disk.free", m.ArtifactDisk.Free, 0, m.ArtifactDisk.Total)
	c.cached(m.Cached)
	c.tokens("commands", m.Commands)
	c.tokens("isolation", m.Isolation)
	return c.err()
}

// tokens demands distinct words.
func (c *checker) tokens(field string, list []string) {
	c.list(field, len(list), MaxInventory)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		c.token(item(field, i), list[i], MaxID)
		c.distinct(item(field, i), slices.Contains(list[:i], list[i]))
	}
}

func (c *checker) distinct(field string, twice bool) {
	if twice {
		c.fail(field, "stands there twice")
	}
}

func (c *checker) accelerators(list []Accelerator) {
	c.list("accelerators", len(list), MaxInventory)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		at, a := item("accelerators", i), &list[i]
		c.token(at+".n", a.Name, MaxID)
		c.token(at+".kind", a.Kind, MaxID)
		a.Model = CleanText(a.Model, MaxText)
		c.distinct(at+".n", slices.ContainsFunc(list[:i], func(b Accelerator) bool { return b.Name == a.Name }))
	}
}

func (c *checker) domains(list []MemoryDomain) {
	c.list("memory", len(list), MaxInventory)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		at, d := item("memory", i), list[i]
		c.token(at+".n", d.Name, MaxID)
		c.token(at+".kind", d.Kind, MaxID)
		c.count(at+".total", d.Total)
		c.distinct(at+".n", slices.ContainsFunc(list[:i], func(b MemoryDomain) bool { return b.Name == d.Name }))
	}
}

func (c *checker) links(list []NodeLink) {
	c.list("links", len(list), MaxInventory)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		at, l := item("links", i), list[i]
		c.name(at+".peer", l.Peer)
		c.token(at+".kind", l.Kind, MaxID)
		c.count(at+".bandwidth", l.Bandwidth)
		same := func(b NodeLink) bool { return b.Peer == l.Peer && b.Kind == l.Kind }
		c.distinct(at+".peer", slices.ContainsFunc(list[:i], same))
	}
}

func (c *checker) cached(list []CachedArtifact) {
	c.list("cached", len(list), MaxCached)
	for i := 0; i < len(list) && c.bad == nil; i++ {
		if !isDigest(list[i].Digest) {
			c.fail(item("cached", i)+".digest", "must be sha256: and 64 lower-case hex digits")
		}
		c.count(item("cached", i)+".size", list[i].Size)
	}
}

// Rotate asks a node for a secret of its own making in place of the one it has;
// repeated after each welcome until it is done. ID names the rotation.
type Rotate struct {
	ID string `msgpack:"id"`
}

// Rotated says that the new secret is stored on both sides. The session ends, and
// the next one opens with the new secret.
type Rotated struct {
	ID string `msgpack:"id"`
}

// Validate cleans and checks; see Hello.Validate.
func (m *Rotate) Validate() error { return checkRotation(TypeRotate, m.ID) }

// Validate cleans and checks; see Hello.Validate.
func (m *Rotated) Validate() error { return checkRotation(TypeRotated, m.ID) }

func checkRotation(kind Type, id string) error {
	c := checker{kind: kind}
	c.token("id", id, MaxID)
	return c.err()
}

// chain demands nothing, or hex digits as welcome gave them.
func (c *checker) chain(value string) {
	if len(value) > MaxID || !isHex(value) {
		c.fail("chain", fmt.Sprintf("must be at most %d lower-case hex digits", MaxID))
	}
}
