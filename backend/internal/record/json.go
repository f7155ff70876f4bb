package record

import (
	"encoding/json"
	"strconv"

	"rockpool/backend/internal/core/fleet"
)

// AppendSpec appends what was asked for as JSON, in the shape of fleet.JobSpec's
// tags, so that json.Unmarshal reads it. It runs once per job on the hot path,
// which is why it is written out.
func AppendSpec(b []byte, s *fleet.JobSpec) []byte {
	b = AppendText(append(b, `{"role":`...), s.Role)
	b = AppendText(append(b, `,"runner":`...), s.Runner)
	b = appendLabels(b, `,"params":[`, s.Params)
	if len(s.Inputs) > 0 {
		b = appendInputs(append(b, `,"inputs":[`...), s.Inputs)
	}
	b = appendVector(append(b, `,"demands":`...), &s.Demands)
	if s.Backend != "" {
		b = AppendText(append(b, `,"backend":`...), s.Backend)
	}
	if s.Region != "" {
		b = AppendText(append(b, `,"region":`...), s.Region)
	}
	b = strconv.AppendInt(append(b, `,"priority":`...), int64(s.Priority), 10)
	b = strconv.AppendInt(append(b, `,"maxAttempts":`...), int64(s.MaxAttempts), 10)
	b = AppendText(append(b, `,"onNodeLost":`...), string(s.OnNodeLost))
	b = AppendText(append(b, `,"whenExhausted":`...), string(s.WhenExhausted))
	if s.RunTimeoutMs != 0 {
		b = strconv.AppendInt(append(b, `,"runTimeoutMs":`...), s.RunTimeoutMs, 10)
	}
	b = appendLabels(b, `,"labels":[`, s.Labels)
	if s.Pool != "" {
		b = AppendText(append(b, `,"pool":`...), s.Pool)
	}
	return append(appendTiming(b, s), '}')
}

// appendTiming appends when a job may run and how it is tried again; nothing for
// one that asks for none of that.
func appendTiming(b []byte, s *fleet.JobSpec) []byte {
	if s.QueueTimeoutMs != 0 {
		b = strconv.AppendInt(append(b, `,"queueTimeoutMs":`...), s.QueueTimeoutMs, 10)
	}
	if s.NotBeforeMs != 0 {
		b = strconv.AppendInt(append(b, `,"notBeforeMs":`...), s.NotBeforeMs, 10)
	}
	if s.RetryBackoffMs != 0 {
		b = strconv.AppendInt(append(b, `,"retryBackoffMs":`...), s.RetryBackoffMs, 10)
	}
	if s.AvoidFailedNode {
		b = append(b, `,"avoidFailedNode":true`...)
	}
	if !s.RetryOf.IsZero() {
		b = AppendText(append(b, `,"retryOf":`...), s.RetryOf.String())
	}
	return b
}

func appendInputs(b []byte, inputs []fleet.Input) []byte {
	for i, in := range inputs {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(append(b, `{"name":`...), in.Name)
		b = AppendText(append(b, `,"digest":`...), in.Digest)
		b = strconv.AppendInt(append(b, `,"size":`...), in.Size, 10)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendLabels appends nothing for no labels: the key goes with them.
func appendLabels(b []byte, key string, labels []fleet.Label) []byte {
	if len(labels) == 0 {
		return b
	}
	b = append(b, key...)
	for i, l := range labels {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendLabel(b, l)
	}
	return append(b, ']')
}

// AppendLabel appends a label as it stands in a spec.
func AppendLabel(b []byte, l fleet.Label) []byte {
	b = AppendText(append(b, `{"name":`...), l.Name)
	b = AppendText(append(b, `,"value":`...), l.Value)
	return append(b, '}')
}

func appendVector(b []byte, v *fleet.Vector) []byte {
	b = strconv.AppendInt(append(b, `{"slots":`...), v.Slots, 10)
	b = appendQuantities(b, `,"resources":[`, v.Resources)
	b = appendQuantities(b, `,"memory":[`, v.Memory)
	return append(b, '}')
}

func appendQuantities(b []byte, key string, qs []fleet.Quantity) []byte {
	if len(qs) == 0 {
		return b
	}
	b = append(b, key...)
	for i, q := range qs {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendText(append(b, `{"name":`...), q.Name)
		b = strconv.AppendInt(append(b, `,"amount":`...), q.Amount, 10)
		b = append(b, '}')
	}
	return append(b, ']')
}

// AppendText appends a JSON string as json.Marshal writes it. Names are plain ASCII
// nearly always.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return append(b, quoted...)
		}
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}
