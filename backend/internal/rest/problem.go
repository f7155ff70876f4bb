package rest

// ProblemType is the media type of Problem.
const ProblemType = "application/problem+json"

// ProblemURN begins every problem's type: names, not pages.
const ProblemURN = "urn:rockpool:problem:"

// Problem is RFC 9457's document with Rockpool's members: code for machines,
// reasons for a refusal by pools, checks that a promotion did not pass, items for a
// batch.
type Problem struct {
	Type      string        `json:"type"`
	Title     string        `json:"title"`
	Status    int           `json:"status"`
	Code      string        `json:"code"`
	Detail    string        `json:"detail,omitempty"`
	Reasons   []Reason      `json:"reasons,omitempty"`
	Checks    []string      `json:"checks,omitempty"`
	Items     []ItemProblem `json:"items,omitempty"`
	RequestID string        `json:"requestId"`
}

// Error lets a client return the problem as it is.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Code + ": " + p.Title
	}
	return p.Code + ": " + p.Detail
}

// Reason counts the nodes of one pool that could not take a job for one reason.
type Reason struct {
	Pool   string `json:"pool"`
	Reason string `json:"reason"`
	Nodes  int32  `json:"nodes"`
}

// ItemProblem is what is wrong with one item of a batch.
type ItemProblem struct {
	Index  int    `json:"index"` // from 0
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// RetryAfter is in seconds, where the item alone may be sent again then.
	RetryAfter int `json:"retryAfter,omitempty"`
}
