package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"rockpool/tests/rig"
)

// makerOf is a runner that leaves a file once the workshop is released.
func makerOf(w *workshop, content string) string {
	return fmt.Sprintf(`
[[runner]]
name    = "make"
argv    = ["/bin/sh", "-c", "echo $ROCKPOOL_JOB/$ROCKPOOL_ATTEMPT >> %[1]s/starts; while [ -e %[1]s/hold ]; do sleep 0.05; done; printf %[2]s > made"]
outputs = ["made"]
success = { outputs = ["made"] }
`, w.Path(""), content)
}

func TestOutputs_WaitForAServerThatIsAway(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, enduring...)
	u, w := newTenant(t, s), newWorkshop(t)
	rig.NewAgent(t, s, rig.AgentOptions{Name: u.name, License: u.license.LicenseCode, Slots: 1, More: makerOf(w, "whole")})
	job := u.submit(runner("make"))
	w.AwaitStart(job.ID, 1)
	s.Kill(t)
	w.Release()
	s.Start(t)
	done := u.await(job.ID, "succeeded")
	if got := string(u.fetch(done, "made")); got != "whole" || done.Attempt != 1 {
		t.Errorf("%s made %q", inWords(done), got)
	}
}

// TestAttack_A22_ALargeResultComesByUpload has a result of 300 KB, which no frame takes.
// What a job made is never shown in place (A48).
func TestAttack_A22_ALargeResultComesByUpload(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	rig.NewAgent(t, u.s, rig.AgentOptions{Name: u.name, License: u.license.LicenseCode, Slots: 1, More: `
[[runner]]
name   = "large"
argv   = ["/bin/sh", "-c", "printf '[' > big.json; seq -s , 60000 >> big.json; printf ']' >> big.json; printf '<svg onload=alert(1)>' > evil.svg"]
result = { file = "big.json", format = "json" }
outputs = ["evil.svg"]
`})
	done := u.await(u.submit(runner("large")).ID, "succeeded")
	if len(done.Output) != 0 {
		t.Errorf("%d bytes of output travelled in the result", len(done.Output))
	}
	var numbers []int
	if err := json.Unmarshal(u.fetch(done, "big.json"), &numbers); err != nil || len(numbers) != 60000 {
		t.Errorf("%d numbers came, %v", len(numbers), err)
	}
	svg := ask(t, u.s, u.token, "GET", "/v1/artifacts/"+done.Outputs["evil.svg"], "")
	if h := svg.Header; svg.Status != 200 || h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != "attachment" ||
		h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("an SVG that a job made comes with %d %v", svg.Status, h)
	}
}

// TestOutputs_OfAnotherNodesWorkAreRefused asks with the secrets of real nodes.
func TestOutputs_OfAnotherNodesWorkAreRefused(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	holder := u.node("holder", rig.RawOptions{})
	job := u.submit()
	offer := holder.Take(t)
	other := u.node("other", rig.RawOptions{})
	content := []byte(u.name)
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	put := func(secret, query string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, u.s.URL+"/v1/artifacts/"+digest+query, bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	held := "?job=" + job.ID + "&attempt=1"
	for name, c := range map[string]struct {
		secret, query string
		want          int
	}{
		"another node":    {other.Secret, held, 404},
		"another attempt": {holder.Secret, "?job=" + job.ID + "&attempt=2", 404},
		"no attempt":      {holder.Secret, "", 403},
	} {
		if got := put(c.secret, c.query); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if there, err := u.client.HasArtifact(t.Context(), digest); there || err != nil {
		t.Errorf("it is there: %v", err)
	}
	if got := put(holder.Secret, held); got != http.StatusCreated {
		t.Errorf("the holder: %d", got)
	}
	if there, err := u.client.HasArtifact(t.Context(), digest); !there || err != nil {
		t.Errorf("it is not there: %v", err)
	}
	holder.Report(t, rig.Succeed(offer))
	u.await(job.ID, "succeeded")
	if got := put(holder.Secret, held); got != http.StatusNotFound {
		t.Errorf("after the end: %d", got)
	}
}
