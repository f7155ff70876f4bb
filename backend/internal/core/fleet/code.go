package fleet

// Code is the machine-readable name of an error, the same over REST
// (problem+json), on the channel (refused, error) and in the CLI.
type Code string

// The codes. Their HTTP status stands beside them in codeStatus.
const (
	CodeBadRequest        Code = "bad_request"
	CodeUnauthenticated   Code = "unauthenticated"
	CodeForbidden         Code = "forbidden"
	CodePoolNotAllowed    Code = "pool_not_allowed"
	CodeNotFound          Code = "not_found"
	CodeMethodNotAllowed  Code = "method_not_allowed"
	CodeConflict          Code = "conflict"
	CodeNodeIDTaken       Code = "node_id_taken"
	CodeLicenseLimit      Code = "license_limit"
	CodeDuplicateIdentity Code = "duplicate_identity"
	CodeLicenseRefused    Code = "license_refused"
	CodePreconditionFail  Code = "precondition_failed"
	CodeTooLarge          Code = "too_large"
	CodeStorageFull       Code = "storage_full"
	CodeUnsupportedMedia  Code = "unsupported_media_type"
	CodeUnprocessable     Code = "unprocessable"
	CodeIdempotencyReused Code = "idempotency_key_reused"
	CodeRateLimited       Code = "rate_limited"
	CodeQueueFull         Code = "queue_full"
	CodePoolExhausted     Code = "pool_exhausted"
	CodeUnavailable       Code = "unavailable"
	CodeStandby           Code = "standby"
	CodeInternal          Code = "internal"
	CodeNotYours          Code = "not_yours"
	CodeUnknownType       Code = "unknown_type"
	CodeBadMessage        Code = "bad_message"
	CodeVersion           Code = "version_unsupported"
	CodeOutOfOrder        Code = "out_of_order"
)

var codeStatus = map[Code]int{
	CodeBadRequest: 400, CodeUnauthenticated: 401, CodeForbidden: 403, CodePoolNotAllowed: 403, CodeNotFound: 404,
	CodeMethodNotAllowed: 405, CodeConflict: 409, CodeNodeIDTaken: 409, CodeDuplicateIdentity: 409, CodeLicenseLimit: 409, CodeLicenseRefused: 403,
	CodePreconditionFail: 412, CodeTooLarge: 413, CodeStorageFull: 507, CodeUnsupportedMedia: 415, CodeUnprocessable: 422,
	CodeIdempotencyReused: 422, CodeRateLimited: 429, CodeQueueFull: 429, CodePoolExhausted: 503,
	CodeUnavailable: 503, CodeStandby: 503, CodeInternal: 500, CodeNotYours: 403, CodeUnknownType: 400,
	CodeBadMessage: 400, CodeVersion: 400, CodeOutOfOrder: 409,
}

// Status is the HTTP status that goes with the code.
func (c Code) Status() int {
	if s, ok := codeStatus[c]; ok {
		return s
	}
	return 500
}

// Error is an error that a person or a program outside may see: a code for
// machines, a message for people, a cause for the log.
type Error struct {
	Code   Code
	Detail string
	Cause  error // for the log only; never shown outside

	RetryAfter Time // when it may be otherwise; 0: soon, or nothing is known
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return string(e.Code) + ": " + e.Detail + ": " + e.Cause.Error()
	}
	return string(e.Code) + ": " + e.Detail
}

func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error without a hidden cause. Use fmt.Sprintf for the detail.
func Errorf(code Code, detail string) *Error { return &Error{Code: code, Detail: detail} }
