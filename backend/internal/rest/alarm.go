package rest

// Alarm is one thing that is wrong, from its raising until it resolved itself.
type Alarm struct {
	ID             string   `json:"id"`
	Kind           string   `json:"kind"`
	Severity       string   `json:"severity"` // critical, warning
	Role           string   `json:"role,omitempty"`
	Pool           string   `json:"pool,omitempty"` // the first one resolved
	App            string   `json:"app,omitempty"`
	Node           string   `json:"node,omitempty"`
	Count          int64    `json:"count"`
	RaisedAt       Time     `json:"raisedAt"`
	LastAt         Time     `json:"lastAt"`
	ResolvedAt     *Time    `json:"resolvedAt,omitempty"`
	Detail         string   `json:"detail"`
	Waiting        []string `json:"waiting"`    // jobs, the oldest first, at most 50
	WaitingNow     int64    `json:"waitingNow"` // all of them
	AcknowledgedBy string   `json:"acknowledgedBy,omitempty"`
	AcknowledgedAt *Time    `json:"acknowledgedAt,omitempty"`
	SilencedBy     string   `json:"silencedBy,omitempty"`
	SilencedUntil  *Time    `json:"silencedUntil,omitempty"`
}

// SilenceRequest is the body of POST /v1/admin/alarms/{id}/silence.
type SilenceRequest struct {
	For    *Duration `json:"for"` // up to 30 days; 0s: no longer
	Reason string    `json:"reason,omitempty"`
}
