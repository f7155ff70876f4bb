package rest

// Inventory is what a node says that it has: a claim, for people and for planning.
// Nothing is admitted by it.
type Inventory struct {
	Rev          int64            `json:"rev"` // rises with each change
	At           Time             `json:"at"`  // when it changed last
	Stale        bool             `json:"stale"`
	Platform     string           `json:"platform"`
	Archs        []string         `json:"archs"`
	Accelerators []Accelerator    `json:"accelerators"`
	Memory       []MemoryDomain   `json:"memory"`
	Links        []NodeLink       `json:"links"`
	ArtifactDisk DiskSpace        `json:"artifactDisk"`
	Cached       []CachedArtifact `json:"cached"`
	Commands     []string         `json:"commands"`  // programs that its runners use and that are there
	Isolation    []string         `json:"isolation"` // what keeps its jobs apart and within their limits: user, cgroup, memory, processes
}

// Accelerator is one device that work can use beside the processor.
type Accelerator struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Model string `json:"model,omitempty"`
}

// MemoryDomain is memory that is shared by what stands in it.
type MemoryDomain struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	TotalMib int64  `json:"totalMib"`
}

// NodeLink is a way from a node to another one, as its owner declares it.
type NodeLink struct {
	Peer string `json:"peer"`
	Kind string `json:"kind"`
	Mbps int64  `json:"mbps"`
}

// DiskSpace is that of the directory in which a node keeps files of its work.
type DiskSpace struct {
	TotalMib int64 `json:"totalMib"`
	FreeMib  int64 `json:"freeMib"` // at least, in steps of a 32nd of the whole
}

// CachedArtifact is a file that a node keeps; the size in bytes.
type CachedArtifact struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}
