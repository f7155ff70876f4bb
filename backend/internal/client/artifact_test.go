package client

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"rockpool/backend/internal/rest"
)

// shelf keeps artifacts in memory like the server's routes do.
type shelf struct {
	kept    map[string][]byte
	uploads atomic.Int32
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest := strings.TrimPrefix(r.URL.Path, "/v1/artifacts/")
	body, there := s.kept[digest]
	switch {
	case r.Method == http.MethodPut:
		s.put(w, r, digest)
	case !there:
		answer(w, 404, rest.ProblemType, `{"code": "not_found", "detail": "there is no such artifact"}`)
	case r.Method == http.MethodGet:
		_, _ = w.Write(body)
	}
}

func (s *shelf) put(w http.ResponseWriter, r *http.Request, digest string) {
	s.uploads.Add(1)
	body, err := io.ReadAll(r.Body)
	if got := digestOfBytes(body); err != nil || got != digest || r.ContentLength != int64(len(body)) {
		answer(w, 422, rest.ProblemType, `{"code": "unprocessable", "detail": "another digest"}`)
		return
	}
	s.kept[digest] = body
	answer(w, 201, "application/json", fmt.Sprintf(`{"digest": %q, "size": %d}`, digest, len(body)))
}

func digestOfBytes(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func TestUploadFile_OnceOnly(t *testing.T) {
	for name, content := range map[string][]byte{"empty": {}, "small": []byte("hello"), "large": bytes.Repeat([]byte("0123456789abcdef"), 1<<17)} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{kept: map[string][]byte{}}
			c := against(t, s.ServeHTTP)
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				kept, err := c.UploadFile(t.Context(), path)
				if err != nil || kept.Digest != digestOfBytes(content) || kept.Size != int64(len(content)) {
					t.Fatalf("got %+v, %v", kept, err)
				}
			}
			if s.uploads.Load() != 1 {
				t.Errorf("uploaded %d times", s.uploads.Load())
			}
			var back bytes.Buffer
			if _, err := c.GetArtifact(t.Context(), digestOfBytes(content), &back); err != nil || !bytes.Equal(back.Bytes(), content) {
				t.Errorf("%d of %d bytes came back, %v", back.Len(), len(content), err)
			}
		})
	}
}

func TestUploadFile_RefusesWhatIsNoFile(t *testing.T) {
	c := against(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent"), os.DevNull} {
		if _, err := c.UploadFile(t.Context(), path); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
}

func TestGetArtifact_ChecksWhatItGets(t *testing.T) {
	digest := digestOfBytes([]byte("what was meant"))
	c := against(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("something else")) })
	if _, err := c.GetArtifact(t.Context(), digest, io.Discard); !errors.Is(err, ErrDigest) {
		t.Errorf("got %v", err)
	}
	if _, err := c.GetArtifact(t.Context(), "sha256:"+strings.Repeat("A", 64), io.Discard); err == nil {
		t.Error("an upper-case digest was taken")
	}
}

func TestHasArtifact_OtherRefusalsAreErrors(t *testing.T) {
	c := against(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(rest.HeaderRequestID, "r9")
		w.WriteHeader(http.StatusUnauthorized)
	})
	_, err := c.HasArtifact(t.Context(), digestOfBytes(nil))
	if status := (*StatusError)(nil); !errors.As(err, &status) || status.Status != 401 || status.RequestID != "r9" {
		t.Errorf("got %v", err)
	}
}

func TestIsDigest(t *testing.T) {
	good := digestOfBytes(nil)
	for text, want := range map[string]bool{
		good: true, "": false, "sha256:": false, good[7:]: false, good + "0": false, strings.ToUpper(good): false,
		"sha256:" + strings.Repeat("A", 64): false, "sha256:" + strings.Repeat("g", 64): false, "./sha256": false,
	} {
		if IsDigest(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	if got := contentDigest(good); got != "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:" {
		t.Errorf("RFC 9530: %s", got)
	}
}
