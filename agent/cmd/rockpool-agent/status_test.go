package main

import (
	"strings"
	"testing"
	"time"

	"rockpool/agent"
)

func TestStatus_SaysWhichProcessIsRefusedAndWhy(t *testing.T) {
	now := time.Unix(1000, 0)
	s := agent.Status{Session: "none", Process: "0123456789abcdef", Machine: "fedcba9876543210", Refusal: &agent.Refusal{
		Code: "duplicate_identity", Detail: "another one is the node", Advice: "remove the copy", Since: now.Add(-3 * time.Minute),
	}}
	var text strings.Builder
	if err := printStatus(&text, s, now); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"refused duplicate_identity for 3m0s: another one is the node what to do remove the copy",
		"process 0123456789ab machine fedcba987654 pool",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
