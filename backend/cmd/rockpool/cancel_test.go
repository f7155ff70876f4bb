package main

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// What is canceled is the list that was shown, and only after a yes.
func TestCancel_AsksAboutAFixedList(t *testing.T) {
	const (
		look = `POST /v1/jobs/cancel?dryRun=true {"app":"a"}`
		word = `POST /v1/jobs/cancel {"ids":["j1","j2"]}`
	)
	for name, c := range map[string]struct {
		args   string
		stdin  string
		found  string // of the selection
		code   int
		says   string
		called []string
	}{
		"yes":           {"--app=a", "y\n", `{"id": "j1", "state": "queued"}, {"id": "j2", "state": "running"}`, exitOK, "cancel these 2 jobs?", []string{look, word}},
		"no":            {"--app=a", "n\n", `{"id": "j1", "state": "queued"}`, exitError, "nothing was canceled", []string{look}},
		"nobody there":  {"--app=a", "", `{"id": "j1", "state": "queued"}`, exitError, "nothing was canceled", []string{look}},
		"not asked":     {"--app=a --yes", "", `{"id": "j1", "state": "queued"}, {"id": "j2", "state": "running"}`, exitOK, "canceled", []string{look, word}},
		"nothing found": {"--app=a --yes", "", ``, exitOK, "JOB", []string{look}},
		"dry run":       {"--app=a --yes --dry-run", "", `{"id": "j1", "state": "queued"}`, exitOK, "j1", []string{look}},
	} {
		s := newServer(t, map[string]http.HandlerFunc{"POST /v1/jobs/cancel": func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("dryRun") != "" {
				document(200, `{"applied": false, "items": [`+c.found+`]}`)(w, r)
				return
			}
			document(200, `{"applied": true, "items": [{"id": "j1", "state": "canceled"}, {"id": "j2", "state": "canceling"}]}`)(w, r)
		}})
		got := rockpoolWith(t, c.stdin, append([]string{"job", "cancel"}, strings.Fields(c.args)...)...)
		var called []string
		for _, a := range s.asked {
			called = append(called, a.call+" "+a.body)
		}
		if got.code != c.code || !strings.Contains(got.out+got.errs, c.says) || !reflect.DeepEqual(called, c.called) {
			t.Errorf("%s: %+v, asked %v", name, got, called)
		}
	}
}

func TestCancel_NamesWhatWasNotCanceled(t *testing.T) {
	newServer(t, map[string]http.HandlerFunc{"POST /v1/jobs/cancel": document(200,
		`{"applied": true, "items": [{"id": "j1", "state": "canceled"}, {"id": "j2", "code": "not_found"}]}`)})
	if got := rockpool(t, "job", "cancel", "j1", "j2"); got.code != exitError || !strings.Contains(got.errs, "job j2 was not canceled: not_found") {
		t.Errorf("%+v", got)
	}
}
