package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"rockpool/agent"
	"rockpool/shared/wire"
)

func TestDoctor_FailsWhenAStepDoes(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusBadGateway} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == wire.ChannelPath {
				w.WriteHeader(status)
			}
		}))
		config := write(t, "agent.toml", "server_url = \""+server.URL+"\"\nbuiltins = [\"checksum\"]\nstate_dir = \""+filepath.Join(t.TempDir(), "state")+"\"\n", 0o600)
		var out, errs bytes.Buffer
		code := run([]string{"doctor", "--config", config, "--idle=0s", "-o", "json"}, []string{"ROCKPOOL_AGENT_LICENSE=" + someCode}, strings.NewReader(""), &out, &errs)
		server.Close()
		var found []agent.Finding
		if err := json.Unmarshal(out.Bytes(), &found); err != nil {
			t.Fatalf("%v: %s %s", err, out.String(), errs.String())
		}
		if ill := agent.Ill(found[len(found)-1]); ill != (code == exitError) || ill != (status == http.StatusBadGateway) || found[0].Verdict != "ok" {
			t.Errorf("code %d with %+v", code, found)
		}
	}
}
