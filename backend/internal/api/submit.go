package api

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// What a job that doesn't say gets.
const (
	defaultRole  = "worker"
	defaultSlots = 1
	memoryHost   = "host" // the domain of demands.memoryMib
)

// Bounds of a request. Names and lists fit what the channel lets an offer carry.
const (
	maxParams      = 64
	maxInputs      = 64
	maxLabels      = 32
	maxFileName    = 256
	maxLabelValue  = 256
	maxPayload     = 64 << 10 // bytes of parameters, inputs and labels together
	maxMemoryMiB   = 1 << 30
	maxRunTimeout  = 30 * 24 * time.Hour
	inputNameChars = "letters, digits, _ . -"
)

// specOf checks a request by itself and fills in what it leaves out. Whether its
// app, and its inputs and their sizes, are there is not known yet. Errors:
// bad_request, and unprocessable for a backend that nothing can have.
func specOf(in *rest.JobRequest) (*fleet.JobSpec, error) {
	return checkedSpec(in,
		fillTimes, checkNames, checkRunner, checkPool, checkNumbers, checkPolicies, fillDemands, fillParams, fillInputs, fillLabels, checkPayload)
}

// specCheck checks a part of a request, and fills it into the spec.
type specCheck func(in *rest.JobRequest, spec *fleet.JobSpec) error

func checkedSpec(in *rest.JobRequest, checks ...specCheck) (*fleet.JobSpec, error) {
	spec := &fleet.JobSpec{
		App: in.App, Role: cmp.Or(in.Role, defaultRole), Runner: in.Runner,
		Region: deref(in.Region, ""), Backend: deref(in.Backend, ""),
		Priority: deref(in.Priority, fleet.DefaultPriority), MaxAttempts: deref(in.MaxAttempts, fleet.DefaultMaxAttempts),
		OnNodeLost:    fleet.NodeLostPolicy(cmp.Or(in.OnNodeLost, string(fleet.OnLostRequeue))),
		WhenExhausted: fleet.ExhaustedPolicy(cmp.Or(in.WhenExhausted, string(fleet.WhenExhaustedWait))),
	}
	for _, check := range checks {
		if err := check(in, spec); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// maxAway is how far in the future a job's not-before may lie.
const maxAway = 30 * 24 * time.Hour

// fillTimes reads what bounds the waiting. A time that has passed asks for nothing.
func fillTimes(in *rest.JobRequest, spec *fleet.JobSpec) error {
	limit, pause := time.Duration(deref(in.QueueTimeout, 0)), time.Duration(deref(in.RetryBackoff, 0))
	switch {
	case in.QueueTimeout != nil && (limit < time.Millisecond || limit > maxAway):
		return badRequest("queueTimeout must be 1ms to %s", rest.Duration(maxAway))
	case pause < 0 || pause > fleet.MaxBackoffMs*time.Millisecond:
		return badRequest("retryBackoff must be 0s to %s", rest.Duration(fleet.MaxBackoffMs*time.Millisecond))
	}
	spec.QueueTimeoutMs, spec.RetryBackoffMs, spec.AvoidFailedNode = limit.Milliseconds(), pause.Milliseconds(), in.AvoidFailedNode
	if in.RetryBackoff != nil && spec.RetryBackoffMs == 0 {
		spec.RetryBackoffMs = fleet.NoBackoff
	}
	if in.NotBefore != nil {
		spec.NotBeforeMs = in.NotBefore.UnixMilli()
	}
	return nil
}

func checkNames(in *rest.JobRequest, spec *fleet.JobSpec) error {
	for _, n := range []struct{ key, value string }{{"app", spec.App}, {"role", spec.Role}} {
		if n.value == "" {
			return badRequest("%s is missing", n.key)
		}
		if err := ids.CheckName(n.value); err != nil {
			return badRequest("%s: %s", n.key, err)
		}
	}
	return checkKind(in.Backend, in.Region)
}

// checkKind checks what a node must be like; nil: that does not matter.
func checkKind(backend, region *string) error {
	if region := deref(region, ""); region != "" {
		if err := ids.CheckName(region); err != nil {
			return badRequest("region: %s", err)
		}
	}
	if backend != nil && !slices.Contains(wire.Backends, *backend) {
		return unprocessable("backend %.40q: name one of %s, or null for the node's own", *backend, strings.Join(wire.Backends, ", "))
	}
	return nil
}

func checkRunner(_ *rest.JobRequest, spec *fleet.JobSpec) error {
	if spec.Runner == "" {
		return badRequest("runner is missing")
	}
	if err := ids.CheckName(spec.Runner); err != nil {
		return badRequest("runner: %s", err)
	}
	return nil
}

// checkPool takes the name of a canary job's pool; whether it is one is not known yet.
func checkPool(in *rest.JobRequest, spec *fleet.JobSpec) error {
	if in.Pool == "" {
		return nil
	}
	if err := ids.CheckName(in.Pool); err != nil {
		return badRequest("pool: %s", err)
	}
	spec.Pool = in.Pool
	return nil
}

func checkNumbers(in *rest.JobRequest, spec *fleet.JobSpec) error {
	switch {
	case spec.Priority < 0 || spec.Priority > fleet.MaxPriority:
		return badRequest("priority must be 0 to %d", fleet.MaxPriority)
	case spec.MaxAttempts < 1 || spec.MaxAttempts > fleet.MaxMaxAttempts:
		return badRequest("maxAttempts must be 1 to %d", fleet.MaxMaxAttempts)
	case in.RunTimeout == nil:
		return nil
	}
	limit := time.Duration(*in.RunTimeout)
	if limit < time.Millisecond || limit > maxRunTimeout {
		return badRequest("runTimeout must be 1ms to %s", rest.Duration(maxRunTimeout))
	}
	spec.RunTimeoutMs = limit.Milliseconds()
	return nil
}

func checkPolicies(_ *rest.JobRequest, spec *fleet.JobSpec) error {
	if spec.OnNodeLost != fleet.OnLostRequeue && spec.OnNodeLost != fleet.OnLostFail && spec.OnNodeLost != fleet.OnLostHold {
		return badRequest("onNodeLost must be requeue, fail or hold")
	}
	if spec.WhenExhausted != fleet.WhenExhaustedWait && spec.WhenExhausted != fleet.WhenExhaustedFail {
		return badRequest("whenExhausted must be wait or fail")
	}
	return nil
}

func fillDemands(in *rest.JobRequest, spec *fleet.JobSpec) error {
	asked := deref(in.Demands, rest.Demands{})
	var err error
	spec.Demands, err = demandsOf("demands.", deref(asked.Slots, defaultSlots), deref(asked.MemoryMib, 0))
	if err == nil && spec.Demands.Slots == 0 && spec.Demands.Plain() {
		err = badRequest("demands must reserve something: slots or memoryMib")
	}
	return err
}

// demandsOf is what work reserves on a node; the keys stand behind the prefix.
func demandsOf(prefix string, slots, memory int64) (fleet.Vector, error) {
	switch {
	case slots < 0 || slots > fleet.MaxSlots:
		return fleet.Vector{}, badRequest("%sslots must be 0 to %d", prefix, fleet.MaxSlots)
	case memory < 0 || memory > maxMemoryMiB:
		return fleet.Vector{}, badRequest("%smemoryMib must be 0 to %d", prefix, maxMemoryMiB)
	case memory == 0:
		return fleet.Vector{Slots: slots}, nil
	}
	return fleet.Vector{Slots: slots, Memory: []fleet.Quantity{{Name: memoryHost, Amount: memory}}}, nil
}

func fillParams(in *rest.JobRequest, spec *fleet.JobSpec) error {
	if len(in.Params) > maxParams {
		return badRequest("params has %d entries, at most %d are allowed", len(in.Params), maxParams)
	}
	for _, name := range sortedKeys(in.Params) {
		if !isToken(name, ids.MaxName) {
			return badRequest("params: the name %.70q must be 1 to %d of %s", name, ids.MaxName, inputNameChars)
		}
		spec.Params = append(spec.Params, fleet.Label{Name: name, Value: string(in.Params[name])})
	}
	return nil
}

func fillInputs(in *rest.JobRequest, spec *fleet.JobSpec) error {
	if len(in.Inputs) > maxInputs {
		return badRequest("inputs has %d entries, at most %d are allowed", len(in.Inputs), maxInputs)
	}
	for _, name := range sortedKeys(in.Inputs) {
		if !isToken(name, maxFileName) || name == "." || name == ".." {
			return badRequest("inputs: the name %.70q must be a plain file name of %s", name, inputNameChars)
		}
		digest, ok := artifact.ParseDigest(in.Inputs[name])
		if !ok {
			return badRequest("inputs.%s must be sha256: and 64 lower-case hex digits", name)
		}
		spec.Inputs = append(spec.Inputs, fleet.Input{Name: name, Digest: string(digest)})
	}
	return nil
}

func fillLabels(in *rest.JobRequest, spec *fleet.JobSpec) error {
	if len(in.Labels) > maxLabels {
		return badRequest("labels has %d entries, at most %d are allowed", len(in.Labels), maxLabels)
	}
	for i, label := range in.Labels {
		name, value := label[0], label[1]
		if !isToken(name, ids.MaxName) {
			return badRequest("labels[%d]: the name %.70q must be 1 to %d of %s", i, name, ids.MaxName, inputNameChars)
		}
		if err := checkLine("the value of label "+name, value, maxLabelValue); err != nil {
			return err
		}
		if slices.ContainsFunc(spec.Labels, func(l fleet.Label) bool { return l.Name == name }) {
			return badRequest("labels: %s stands there twice", name)
		}
		spec.Labels = append(spec.Labels, fleet.Label{Name: name, Value: value})
	}
	return nil
}

func checkPayload(_ *rest.JobRequest, spec *fleet.JobSpec) error {
	size := 0
	for _, l := range spec.Params {
		size += len(l.Name) + len(l.Value)
	}
	for _, l := range spec.Labels {
		size += len(l.Name) + len(l.Value)
	}
	for _, f := range spec.Inputs {
		size += len(f.Name) + len(f.Digest)
	}
	if size > maxPayload {
		return badRequest("params, inputs and labels are %d bytes, at most %d are allowed: upload large data as an artifact", size, maxPayload)
	}
	return nil
}

// isToken is 1 to max of letters, digits, _ . and -.
func isToken(s string, max int) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= max
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
