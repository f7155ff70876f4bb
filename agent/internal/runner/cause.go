package runner

import "rockpool/shared/wire"

// Causes that a result names; the control plane knows the same words.
const (
	causeExitCode       = "exit_code"
	causeSignaled       = "signaled"
	causeRunTimeout     = "run_timeout"
	causeStartFailed    = "start_failed"
	causeInputFailed    = "input_failed"
	causeOutputMissing  = "output_missing"
	causeOutputTooLarge = "output_too_large"
	causeLimitPassed    = "limit_passed"
	causeProbeFailed    = "probe_failed"
	causeOutputFailed   = "output_failed"
	causeNonFinite      = "non_finite"
	causeBadParams      = "bad_params"
	causeBadInput       = "bad_input"
	causeDiskFull       = "disk_full"
)

// failure is an attempt that did not succeed, with what its result says of it.
type failure struct {
	status wire.ResultStatus
	cause  string
	detail string // one line for people
}

func (f *failure) Error() string { return f.cause + ": " + f.detail }

func failed(cause, detail string) *failure { return &failure{wire.ResultFailed, cause, detail} }
