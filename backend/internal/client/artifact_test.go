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
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"rockpool/backend/internal/rest"
)

// shelf keeps artifacts in memory like the server's routes do.
type shelf struct {
	kept    map[string][]byte
	part    []byte // of an upload that broke off
	uploads atomic.Int32
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	body, there := s.kept[digest]
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/uploads/") && r.Method == http.MethodHead:
		w.Header().Set(rest.HeaderUploadOffset, strconv.Itoa(len(s.part)))
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPatch:
		s.patch(w, r, digest)
	case !there:
		answer(w, 404, rest.ProblemType, `{"code": "not_found", "detail": "there is no such artifact"}`)
	case r.Method == http.MethodGet:
		_, _ = w.Write(body)
	}
}

func (s *shelf) patch(w http.ResponseWriter, r *http.Request, digest string) {
	s.uploads.Add(1)
	if offset := r.Header.Get(rest.HeaderUploadOffset); offset != strconv.Itoa(len(s.part)) {
		answer(w, 409, rest.ProblemType, `{"code": "conflict", "detail": "another offset"}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	length := r.ContentLength + int64(len(s.part))
	body = append(s.part, body...)
	if got := digestOfBytes(body); err != nil || got != digest || length != int64(len(body)) || r.Header.Get(rest.HeaderUploadLength) != strconv.Itoa(len(body)) {
		answer(w, 422, rest.ProblemType, `{"code": "unprocessable", "detail": "another digest"}`)
		return
	}
	s.kept[digest], s.part = body, nil
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

func TestUploadFile_GoesOnWhereItBrokeOff(t *testing.T) {
	s := &shelf{kept: map[string][]byte{}, part: []byte("what c")}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("what comes in parts"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := against(t, s.ServeHTTP).UploadFile(t.Context(), path)
	if err != nil || string(s.kept[kept.Digest]) != "what comes in parts" {
		t.Errorf("kept %+v, %v", kept, err)
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
