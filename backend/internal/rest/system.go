package rest

import "encoding/json"

// Artifact is a stored file, addressed by its content.
type Artifact struct {
	Digest string `json:"digest"` // sha256:<64 hex>
	Size   int64  `json:"size"`   // bytes
}

// AuditEntry is one link of the audit chain.
type AuditEntry struct {
	Seq       int64           `json:"seq"`
	At        Time            `json:"at"`
	Actor     string          `json:"actor"`               // u:<id>, node:<id>, local
	ActorName string          `json:"actorName,omitempty"` // of the person, as it is now
	Address   string          `json:"address,omitempty"`
	RequestID string          `json:"requestId,omitempty"`
	Action    string          `json:"action"`
	Object    string          `json:"object"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Sum       string          `json:"sum"` // hex SHA-256
}

// AuditVerified is the outcome of checking the whole chain.
type AuditVerified struct {
	OK     bool   `json:"ok"`
	Seq    int64  `json:"seq"` // of the head
	Sum    string `json:"sum"` // of the head, hex
	BadSeq *int64 `json:"badSeq,omitempty"`
}

// Version says what runs.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// Health answers /livez and /readyz.
type Health struct {
	Status string  `json:"status"` // ok, unavailable, standby
	Detail string  `json:"detail,omitempty"`
	Frozen *Frozen `json:"frozen,omitempty"` // absent: leases run out as ever
}

// Frozen says since when no lease runs out, because a fault of the control plane
// never counts against nodes.
type Frozen struct {
	Since Time   `json:"since"`
	Until *Time  `json:"until,omitempty"` // then leases may run out again; absent: nobody knows yet
	By    string `json:"by"`              // database, standstill, restart
}
