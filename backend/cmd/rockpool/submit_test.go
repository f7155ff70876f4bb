package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"rockpool/backend/internal/rest"
)

// artifacts answers the routes of one file that the server has or takes.
func artifacts(content string, there bool) (digest string, answers map[string]http.HandlerFunc) {
	digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content)))
	answers = map[string]http.HandlerFunc{
		"POST /v1/jobs": document(201, job("queued", "")),
		"HEAD /v1/uploads/" + digest: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(rest.HeaderUploadOffset, "0") // nothing of it was sent before
		},
		"PATCH /v1/uploads/" + digest: document(201, fmt.Sprintf(`{"digest": %q, "size": %d}`, digest, len(content))),
	}
	if there {
		answers["HEAD /v1/artifacts/"+digest] = document(200, "")
	}
	return digest, answers
}

// submitted is the body of the only submit.
func submitted(t *testing.T, s *fakeServer) (map[string]any, http.Header) {
	t.Helper()
	for _, a := range s.asked {
		if a.call == "POST /v1/jobs" {
			var body map[string]any
			if err := json.Unmarshal([]byte(a.body), &body); err != nil {
				t.Fatal(err)
			}
			return body, a.header
		}
	}
	t.Fatalf("no job was submitted: %v", s.calls())
	return nil, nil
}

func write(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSubmit_UploadsWhatTheServerHasNot(t *testing.T) {
	for _, there := range []bool{false, true} {
		digest, answers := artifacts("some bytes", there)
		s := newServer(t, answers)
		got := rockpool(t, "job", "submit", "--app=cam-7", "--runner=checksum", "--input", "file="+write(t, "some bytes"), "--input", "again="+digest)
		if got.code != exitOK {
			t.Fatalf("%+v", got)
		}
		want := []string{"HEAD /v1/artifacts/" + digest, "HEAD /v1/uploads/" + digest, "PATCH /v1/uploads/" + digest, "POST /v1/jobs"}
		if there {
			want = []string{want[0], want[3]}
		}
		if calls := s.calls(); !reflect.DeepEqual(calls, want) {
			t.Errorf("asked %v, want %v", calls, want)
		}
		body, _ := submitted(t, s)
		if !reflect.DeepEqual(body["inputs"], map[string]any{"file": digest, "again": digest}) {
			t.Errorf("inputs are %v", body["inputs"])
		}
	}
}

func TestSubmit_SaysWhatItWasTold(t *testing.T) {
	_, answers := artifacts("", true)
	s := newServer(t, answers)
	got := rockpool(t, "job", "submit", "--app=cam-7", "--runner=vmaf", "--role=edge", "--param", "threads=1", "--param", "filter=a=b;c,d",
		"--demand", "slots=2", "--demand", "memoryMib=512", "--backend=cpu", "--region=ams", "--priority=0", "--max-attempts=1",
		"--on-node-lost=hold", "--when-exhausted=fail", "--run-timeout=10m", "--queue-timeout=1h", "--retry-backoff=0s",
		"--not-before=2026-12-01T03:00:00+01:00", "--avoid-failed-node", "--label", "build=812", "--label", "a=b", "--idempotency-key=k1")
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	body, header := submitted(t, s)
	want := map[string]any{
		"app": "cam-7", "runner": "vmaf", "role": "edge", "params": map[string]any{"threads": "1", "filter": "a=b;c,d"},
		"demands": map[string]any{"slots": 2.0, "memoryMib": 512.0}, "backend": "cpu", "region": "ams", "priority": 0.0, "maxAttempts": 1.0,
		"onNodeLost": "hold", "whenExhausted": "fail", "runTimeout": "10m", "queueTimeout": "1h", "retryBackoff": "0s",
		"notBefore": "2026-12-01T02:00:00.000Z", "avoidFailedNode": true, "labels": []any{[]any{"a", "b"}, []any{"build", "812"}},
	}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("submitted\n%v, want\n%v", body, want)
	}
	if header.Get("Idempotency-Key") != "k1" {
		t.Errorf("key is %q", header.Get("Idempotency-Key"))
	}
}

func TestSubmit_EachTimeANewKey(t *testing.T) {
	_, answers := artifacts("", true)
	s := newServer(t, answers)
	keys := map[string]bool{}
	for range 3 {
		s.asked = nil
		rockpool(t, "job", "submit", "--app=cam-7", "--runner=noop")
		_, header := submitted(t, s)
		keys[header.Get("Idempotency-Key")] = true
	}
	if len(keys) != 3 || keys[""] {
		t.Errorf("keys are %v", keys)
	}
}

func TestSubmit_FileThenFlags(t *testing.T) {
	const file = `{"app": "cam-7", "runner": "vmaf", "params": {"threads": 1, "fast": true}, "region": null, "queueTimeout": null, "demands": {"slots": 1}}`
	want := map[string]any{
		"app": "cam-8", "runner": "vmaf", "params": map[string]any{"threads": "2", "fast": "true"},
		"demands": map[string]any{"slots": 1.0, "memoryMib": 64.0},
	}
	for _, from := range []string{"file", "stdin"} {
		_, answers := artifacts("", true)
		s := newServer(t, answers)
		path, stdin := write(t, file), ""
		if from == "stdin" {
			path, stdin = "-", file
		}
		got := rockpoolWith(t, stdin, "job", "submit", "-f", path, "--app=cam-8", "--param=threads=2", "--demand=memoryMib=64")
		if got.code != exitOK {
			t.Fatalf("%+v", got)
		}
		if body, _ := submitted(t, s); !reflect.DeepEqual(body, want) {
			t.Errorf("%s: submitted %v", from, body)
		}
	}
}

func TestSubmit_RefusesAJobThatIsNone(t *testing.T) {
	for text, says := range map[string]string{
		`{"app": "cam-7", "runner": "noop", "poolId": "pool-1"}`: `unknown field \"poolId\"`,
		`{"app": "cam-7"} {"app": "cam-8"}`:                      "one document",
		`{"app": `:                                               "unexpected EOF",
		`["app"]`:                                                "array",
	} {
		s := newServer(t, nil)
		got := rockpool(t, "job", "submit", "-f", write(t, text))
		if got.code != exitError || !strings.Contains(got.errs, strings.ReplaceAll(says, `\"`, `"`)) || len(s.calls()) != 0 {
			t.Errorf("%s: %+v, asked %v", text, got, s.calls())
		}
	}
}

// A job's document is often somebody else's: it can't make the CLI send files.
func TestSubmit_FileNamesNoLocalFiles(t *testing.T) {
	_, answers := artifacts("", true)
	s := newServer(t, answers)
	secret := write(t, "private")
	rockpoolWith(t, fmt.Sprintf(`{"app": "cam-7", "runner": "noop", "inputs": {"x": %q}}`, secret), "job", "submit", "-f", "-")
	if calls := s.calls(); !reflect.DeepEqual(calls, []string{"POST /v1/jobs"}) {
		t.Errorf("asked %v", calls)
	}
}

func TestSubmit_InputThatIsNoFile(t *testing.T) {
	s := newServer(t, nil)
	got := rockpool(t, "job", "submit", "--app=a", "--runner=r", "--input=clip="+filepath.Join(t.TempDir(), "absent.mp4"))
	if got.code != exitError || !strings.Contains(got.errs, `input "clip": find a file to upload`) || len(s.calls()) != 0 {
		t.Errorf("%+v, asked %v", got, s.calls())
	}
}

func TestArtifactGet_KeepsOnlyCheckedBytes(t *testing.T) {
	digest, _ := artifacts("right", true)
	path := filepath.Join(t.TempDir(), "out")
	for body, want := range map[string]int{"wrong": exitError, "right": exitOK} {
		newServer(t, map[string]http.HandlerFunc{"GET /v1/artifacts/" + digest: document(200, body)})
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		got := rockpool(t, "artifact", "get", digest, path)
		kept, err := os.ReadFile(path)
		if got.code != want || (want == exitOK) != (err == nil) || err == nil && string(kept) != body {
			t.Errorf("%s: %+v, kept %q, %v", body, got, kept, err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) != 0 {
			t.Errorf("%s: left %v", body, left)
		}
	}
	newServer(t, map[string]http.HandlerFunc{"GET /v1/artifacts/" + digest: document(200, "right")})
	if got := rockpool(t, "artifact", "get", digest, "-"); got.out != "right" {
		t.Errorf("got %+v", got)
	}
}
