package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"rockpool/backend/internal/rest"
)

func TestUpload_GoesOnWhereItBrokeOff(t *testing.T) {
	w := newWorld(t)
	const content = "what comes in parts"
	digest, _ := sumOf(content)
	at := "/v1/uploads/" + string(digest)
	mine := at + "?job=" + jobIDOf(ann).String() + "&attempt=1"
	for _, c := range []struct{ as, target string }{{userText(bob), at}, {"node", mine}} {
		patch := func(from, to int) (int, string) {
			rec := w.ask(c.as, http.MethodPatch, c.target, content[from:to],
				"Upload-Offset", strconv.Itoa(from), "Upload-Length", strconv.Itoa(len(content)))
			return rec.Code, rec.Header().Get("Upload-Offset")
		}
		offset := func() string { return w.ask(c.as, http.MethodHead, c.target, "").Header().Get("Upload-Offset") }
		if got := offset(); got != "0" {
			t.Errorf("%s: begins at %s", c.as, got)
		}
		if code, at := patch(0, 5); code != 204 || at != "5" {
			t.Errorf("%s: the first part: %d, offset %s", c.as, code, at)
		}
		if code, _ := patch(0, 5); code != 409 {
			t.Errorf("%s: the first part again: %d", c.as, code)
		}
		if code, _ := patch(6, 7); code != 409 {
			t.Errorf("%s: with a gap: %d", c.as, code)
		}
		if got := offset(); got != "5" {
			t.Errorf("%s: goes on at %s", c.as, got)
		}
		if rec := w.ask(c.as, http.MethodGet, "/v1/artifacts/"+string(digest), ""); rec.Code != 404 {
			t.Errorf("%s: a part is an artifact: %d", c.as, rec.Code)
		}
		if code, _ := patch(5, len(content)); code != 201 {
			t.Errorf("%s: the rest: %d", c.as, code)
		}
		owner := map[string]int64{"node": ann, userText(bob): bob}[c.as]
		if rec := w.asUser(owner, http.MethodGet, "/v1/artifacts/"+string(digest), ""); rec.Code != 200 || rec.Body.String() != content {
			t.Errorf("%s: the owner reads %d %q", c.as, rec.Code, rec.Body)
		}
		delete(w.artifacts, digest)
	}
	for name, target := range map[string]string{"no attempt": at, "another attempt": strings.Replace(mine, "attempt=1", "attempt=2", 1)} {
		for _, method := range []string{http.MethodHead, http.MethodPatch} {
			if rec := w.ask("node", method, target, ""); rec.Code != 403 && rec.Code != 404 {
				t.Errorf("%s: %s: %d", name, method, rec.Code)
			}
		}
	}
}

func TestAttack_A54_APartIsNoLongerThanWasAnnounced(t *testing.T) {
	w := newWorld(t)
	digest, _ := sumOf("four")
	for _, c := range []struct {
		name, offset, length, body string
		status                     int
	}{
		{"longer than announced", "0", "3", "four", 400},
		{"behind the end", "5", "4", "", 400},
		{"no offset", "", "4", "four", 400},
		{"no length", "0", "", "four", 400},
		{"less than nothing", "-1", "4", "four", 400},
		{"over the bound", "0", strconv.Itoa(1<<16 + 1), "four", 413},
		{"another digest", "0", "4", "five", 422},
		{"as announced", "0", "4", "four", 201},
	} {
		rec := w.asUser(bob, http.MethodPatch, "/v1/uploads/"+string(digest), c.body, "Upload-Offset", c.offset, "Upload-Length", c.length)
		if rec.Code != c.status {
			t.Errorf("%s: %d %s", c.name, rec.Code, rec.Body)
		}
	}
}

// The world's owners may have 128 KiB each.
func TestUpload_OverTheOwnersBoundIsRefusedInWords(t *testing.T) {
	w := newWorld(t)
	const half = 1 << 16
	for i, want := range []int{201, 507} {
		rec := w.asUser(bob, http.MethodPost, "/v1/artifacts", strings.Repeat(strconv.Itoa(i), half))
		if rec.Code != want {
			t.Fatalf("upload %d: %d %s", i, rec.Code, rec.Body)
		}
		if p := read[rest.Problem](t, rec); want == 507 && (p.Code != "storage_full" || !strings.Contains(p.Detail, "artifact.owner_bytes") || !strings.Contains(p.Detail, "131072")) {
			t.Errorf("it is refused with %+v", p)
		}
	}
	if rec := w.asUser(ann, http.MethodPost, "/v1/artifacts", strings.Repeat("a", half)); rec.Code != 201 {
		t.Errorf("another owner: %d %s", rec.Code, rec.Body)
	}
}

// A file that is no longer the one of which a part was fetched comes whole.
func TestArtifact_AnEndOfTheSameFileOnly(t *testing.T) {
	w := newWorld(t)
	at := "/v1/artifacts/" + string(digestOf(ann))
	for tag, want := range map[string]int{strconv.Quote(string(digestOf(ann))): 206, strconv.Quote(string(digestOf(bob))): 200} {
		rec := w.asUser(ann, http.MethodGet, at, "", "Range", "bytes=4-", "If-Range", tag)
		if rec.Code != want || want == 206 && rec.Body.String() != contentOf(ann)[4:] {
			t.Errorf("If-Range %s: %d %q", tag, rec.Code, rec.Body)
		}
	}
}
