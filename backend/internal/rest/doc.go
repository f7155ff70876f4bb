// Package rest holds the JSON documents of Rockpool's REST API, as the server
// writes them and the CLI reads them. Keys are camelCase, codes and enum values
// snake_case, ids strings (users: decimal), times RFC 3339 UTC with
// milliseconds, durations strings such as "90s", sizes in the unit that the key
// names. A type ending in Request is what a client may send; it never carries
// what the control plane decides (pool, owner, attempt, state), except where a
// superadmin's route is there to decide exactly that.
package rest

// List is one page of a list. NextPageToken is opaque; empty on the last page.
type List[T any] struct {
	Items         []T    `json:"items"`
	NextPageToken string `json:"nextPageToken"`
}

// MaxBatch is the most jobs of one batch.
const MaxBatch = 1000

// HeaderIdempotencyKey makes a repeated POST do nothing more and answer as the first
// one did; HeaderIdempotencyReplayed says that it did.
const (
	HeaderIdempotencyKey      = "Idempotency-Key"
	HeaderIdempotencyReplayed = "Idempotency-Replayed"
	HeaderContentDigest       = "Content-Digest"
	HeaderRequestID           = "X-Request-Id"
)

// Of an upload in parts: where the body begins or how much is there, and how many
// bytes the whole has.
const (
	HeaderUploadOffset = "Upload-Offset"
	HeaderUploadLength = "Upload-Length"
)
