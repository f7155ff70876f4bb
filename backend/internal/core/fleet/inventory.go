package fleet

// Inventory is what a node says that it has, beside what its hello claims. It is
// for people and for planning; nothing is admitted by it.
type Inventory struct {
	Rev          int64            `json:"rev"` // rises with each change
	Platform     string           `json:"platform,omitempty"`
	Archs        []string         `json:"archs,omitempty"`
	Accelerators []Accelerator    `json:"accelerators,omitempty"`
	Memory       []MemoryDomain   `json:"memory,omitempty"`
	Links        []NodeLink       `json:"links,omitempty"`
	DiskTotal    int64            `json:"diskTotal,omitempty"` // MiB, of the directory that keeps artifacts
	DiskFree     int64            `json:"diskFree,omitempty"`
	Cached       []CachedArtifact `json:"cached,omitempty"`
	Commands     []string         `json:"commands,omitempty"`
	Isolation    []string         `json:"isolation,omitempty"`
	Stale        bool             `json:"stale,omitempty"` // a part could not be collected and says what it said before
}

// Accelerator is one device that work can use beside the processor.
type Accelerator struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // gpu, npu …
	Model string `json:"model,omitempty"`
}

// MemoryDomain is memory that is shared by what stands in it.
type MemoryDomain struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`  // ram, vram …
	Total int64  `json:"total"` // MiB
}

// NodeLink is a way from a node to another one.
type NodeLink struct {
	Peer      string `json:"peer"` // node
	Kind      string `json:"kind"`
	Bandwidth int64  `json:"bandwidth"` // Mbit/s
}

// CachedArtifact is a file that a node keeps.
type CachedArtifact struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"` // bytes
}
