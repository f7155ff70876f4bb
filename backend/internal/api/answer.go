package api

import (
	"encoding/json"
	"strconv"
	"sync"

	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// JSON answers with a document.
func (c *call) JSON(status int, doc any) error {
	job, single := doc.(*rest.Job)
	if !single {
		return c.Context.JSON(status, doc)
	}
	buffer := jobBuffers.Get().(*[]byte)
	defer jobBuffers.Put(buffer)
	*buffer = append(appendJob((*buffer)[:0], job), '\n')
	return c.JSONBlob(status, *buffer)
}

// jobBuffers have room for nearly every job's document.
var jobBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, 1<<10)
	return &buffer
}}

// appendJob appends a job's document, byte for byte as json.Marshal writes it. It runs
// once a request on the hot path, which is why it is written out.
func appendJob(b []byte, j *rest.Job) []byte {
	b = appendField(b, `{"id":`, j.ID)
	b = appendField(b, `,"app":`, j.App)
	b = appendField(b, `,"role":`, j.Role)
	b = appendField(b, `,"runner":`, j.Runner)
	b = appendField(b, `,"state":`, j.State)
	if j.Reason == nil {
		b = append(b, `,"reason":null`...)
	} else {
		b = appendField(b, `,"reason":`, *j.Reason)
	}
	b = appendGiven(b, `,"detail":`, j.Detail)
	if len(j.Reasons) > 0 {
		b = appendAny(b, `,"reasons":`, j.Reasons)
	}
	b = appendNumber(b, `,"priority":`, int64(j.Priority))
	b = appendNumber(b, `,"attempt":`, int64(j.Attempt))
	b = appendGiven(b, `,"node":`, j.Node)
	b = appendGiven(b, `,"pool":`, j.Pool)
	b = strconv.AppendBool(append(b, `,"fallback":`...), j.Fallback)
	if j.Percent != nil {
		b = appendNumber(b, `,"percent":`, int64(*j.Percent))
	}
	b = appendTimes(b, j)
	b = appendResult(b, j)
	b = appendAsks(append(b, `,"asks":`...), &j.Asks)
	b = appendField(b, `,"links":{"decision":`, j.Links.Decision)
	b = appendField(b, `,"log":`, j.Links.Log)
	return append(b, `}}`...)
}

// appendTimes appends how long it waited, for what, and when it was what.
func appendTimes(b []byte, j *rest.Job) []byte {
	if j.QueuedMs != nil {
		b = appendNumber(b, `,"queuedMs":`, *j.QueuedMs)
	}
	if w := j.Waits; w != nil {
		b = appendNumber(b, `,"waits":{"pool":`, w.Pool)
		b = appendNumber(b, `,"fairness":`, w.Fairness)
		b = appendNumber(b, `,"backoff":`, w.Backoff)
		b = appendNumber(b, `,"quota":`, w.Quota)
		b = appendNumber(b, `,"hold":`, w.Hold)
		b = append(appendNumber(b, `,"offer":`, w.Offer), '}')
	}
	b = appendTime(b, `,"notBefore":`, j.NotBefore)
	b = appendGiven(b, `,"retryOf":`, j.RetryOf)
	b = appendTime(b, `,"createdAt":`, &j.CreatedAt)
	b = appendTime(b, `,"assignedAt":`, j.AssignedAt)
	b = appendTime(b, `,"startedAt":`, j.StartedAt)
	return appendTime(b, `,"endedAt":`, j.EndedAt)
}

// appendResult appends what came of it, and the labels that it had.
func appendResult(b []byte, j *rest.Job) []byte {
	if j.ExitCode != nil {
		b = appendNumber(b, `,"exitCode":`, *j.ExitCode)
	}
	if len(j.Output) > 0 {
		b = appendAny(b, `,"output":`, j.Output)
	}
	if len(j.Outputs) > 0 {
		b = appendAny(b, `,"outputs":`, j.Outputs)
	}
	if len(j.Labels) > 0 {
		b = appendAny(b, `,"labels":`, j.Labels)
	}
	return b
}

func appendAsks(b []byte, a *rest.JobAsks) []byte {
	b = appendNumber(b, `{"slots":`, a.Slots)
	b = appendNumber(b, `,"memoryMib":`, a.MemoryMib)
	b = appendGiven(b, `,"backend":`, a.Backend)
	b = appendGiven(b, `,"region":`, a.Region)
	b = appendField(b, `,"queueTimeout":`, a.QueueTimeout.String())
	b = appendField(b, `,"runTimeout":`, a.RunTimeout.String())
	b = appendField(b, `,"onNodeLost":`, a.OnNodeLost)
	b = appendNumber(b, `,"maxAttempts":`, int64(a.MaxAttempts))
	return append(appendNumber(b, `,"counted":`, int64(a.Counted)), '}')
}

func appendField(b []byte, key, text string) []byte {
	return record.AppendText(append(b, key...), text)
}

// appendGiven appends nothing for an empty text.
func appendGiven(b []byte, key, text string) []byte {
	if text == "" {
		return b
	}
	return appendField(b, key, text)
}

func appendNumber(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

// appendTime appends nothing for a time that is not there.
func appendTime(b []byte, key string, t *rest.Time) []byte {
	if t == nil {
		return b
	}
	return t.Append(append(b, key...))
}

// appendAny appends what few jobs have. It has a JSON form: the makers of the document
// looked whether a node's output is JSON.
func appendAny(b []byte, key string, value any) []byte {
	text, _ := json.Marshal(value)
	return append(append(b, key...), text...)
}
