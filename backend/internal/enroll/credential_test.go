package enroll

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestPresent_TellsKindsApartByShape(t *testing.T) {
	node, code := NewNodeSecret(), NewLicenseCode()
	p, err := Present(headers("Authorization", "Bearer "+node.Text))
	if want := (Presented{Kind: KindNode, Secret: node.Sum}); err != nil || p != want {
		t.Errorf("node secret: %+v, %v", p, err)
	}
	p, err = Present(headers("Authorization", "license "+code.Text, wire.NodeSecretHeader, node.Text))
	if want := (Presented{Kind: KindLicense, Secret: node.Sum, License: code.Sum}); err != nil || p != want {
		t.Errorf("license code: %+v, %v", p, err)
	}
}

func TestPresent_RefusesEverythingElse(t *testing.T) {
	node, code := NewNodeSecret().Text, NewLicenseCode().Text
	cases := map[string]http.Header{
		"nothing":                headers(),
		"cookie only":            headers("Cookie", "__Host-session=x"),
		"empty":                  headers("Authorization", ""),
		"two headers":            headers("Authorization", "Bearer "+node, "Authorization", "Bearer "+node),
		"no scheme":              headers("Authorization", node),
		"basic":                  headers("Authorization", "Basic "+node),
		"API token":              headers("Authorization", "Bearer "+NewTokenSecret().Text),
		"setup token":            headers("Authorization", "Bearer "+NewSetupToken().Text),
		"token as license":       headers("Authorization", "License "+NewTokenSecret().Text, wire.NodeSecretHeader, node),
		"license as bearer":      headers("Authorization", "Bearer "+code),
		"license without secret": headers("Authorization", "License "+code),
		"license, two secrets":   headers("Authorization", "License "+code, wire.NodeSecretHeader, node, wire.NodeSecretHeader, node),
		"license, token beside":  headers("Authorization", "License "+code, wire.NodeSecretHeader, NewTokenSecret().Text),
		"junk of 10 MB":          headers("Authorization", "Bearer "+strings.Repeat("x", 10<<20)),
	}
	for name, header := range cases {
		_, err := Present(header)
		var refused *fleet.Error
		if !errors.As(err, &refused) || refused.Code != fleet.CodeUnauthenticated {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(refused.Detail, node) || strings.Contains(refused.Detail, code) {
			t.Errorf("%s: the refusal repeats a secret", name)
		}
	}
}
