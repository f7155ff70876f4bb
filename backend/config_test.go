package backend

import (
	"strings"
	"testing"
)

func TestLoadConfig_RefusesWithTheSetting(t *testing.T) {
	for name, tc := range map[string]struct {
		flags map[string]string
		want  string
	}{
		"long name":      {map[string]string{"name": "a name that nobody's sidebar has room for"}, "name:"},
		"hidden name":    {map[string]string{"name": "a\u202eb"}, "name:"},
		"listen":         {map[string]string{"listen": "8700"}, "listen:"},
		"metrics":        {map[string]string{"metrics_listen": "0.0.0.0:1"}, "metrics_listen:"},
		"key alone":      {map[string]string{"tls_key": "k"}, "tls_cert:"},
		"no such cert":   {map[string]string{"tls_key": "/nowhere", "tls_cert": "/nowhere"}, "tls_cert:"},
		"heartbeat":      {map[string]string{"lease.heartbeat": "100ms"}, "lease.heartbeat:"},
		"suspect":        {map[string]string{"lease.suspect": "24s"}, "lease.suspect:"},
		"lost":           {map[string]string{"lease.lost": "59s"}, "lease.lost:"},
		"redial":         {map[string]string{"lease.redial_window": "11m"}, "lease.redial_window:"},
		"offer":          {map[string]string{"lease.offer_timeout": "1ms"}, "lease.offer_timeout:"},
		"jobs kept":      {map[string]string{"retention.jobs": "23h"}, "retention.jobs:"},
		"alarms kept":    {map[string]string{"retention.alarms": "-1s"}, "retention.alarms:"},
		"level":          {map[string]string{"log.level": "loud"}, "log.level:"},
		"format":         {map[string]string{"log.format": "xml"}, "log.format:"},
		"data dir":       {map[string]string{"data_dir": ""}, "data_dir:"},
		"artifact bytes": {map[string]string{"artifact.max_bytes": "0"}, "artifact.max_bytes:"},
		"owner bytes":    {map[string]string{"artifact.owner_bytes": "1000"}, "artifact.owner_bytes:"},
		"total bytes":    {map[string]string{"artifact.total_bytes": "-1"}, "artifact.total_bytes:"},
		"artifacts kept": {map[string]string{"retention.artifacts": "1h"}, "retention.artifacts:"},
		"uploads kept":   {map[string]string{"retention.uploads": "0s"}, "retention.uploads:"},
		"admin alone":    {map[string]string{"database.admin_url": "x"}, "database.admin_url:"},
		"unknown":        {map[string]string{"databse.url": "x"}, "did you mean database.url?"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadConfig("", nil, tc.flags)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestLoadConfig_DefaultsAreTaken(t *testing.T) {
	if _, err := LoadConfig("", []string{"ROCKPOOL_AGENT_SLOTS=1", "ROCKPOOL_TOKEN=x", "ROCKPOOL_LEASE_LOST=2m"}, nil); err != nil {
		t.Fatal(err)
	}
}
