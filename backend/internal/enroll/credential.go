package enroll

import (
	"net/http"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// Kind of a credential on the channel. Each kind has messages and budgets of its own.
type Kind uint8

// A node shows its own secret; a new one shows a license code beside it.
const (
	KindNode Kind = iota
	KindLicense
)

// Presented is a credential whose shape is right. Nothing is known of it yet.
type Presented struct {
	Kind    Kind
	Secret  Sum // of the node's own secret
	License Sum // of the license code; of KindLicense only
}

// Present reads the credential of an upgrade request by its shape alone, without
// asking any database. Everything else is refused (unauthenticated), an API token
// among it: one that acts for a user is no node.
func Present(header http.Header) (Presented, error) {
	lines := header.Values("Authorization")
	if len(lines) != 1 {
		return Presented{}, refuse("send one Authorization header: Bearer <node secret> or License <code>")
	}
	scheme, credential, _ := strings.Cut(lines[0], " ")
	switch strings.ToLower(scheme) {
	case "bearer":
		return presentNode(credential)
	case "license":
		return presentLicense(credential, header.Values(wire.NodeSecretHeader))
	default:
		return Presented{}, refuse("the channel takes Authorization: Bearer <node secret> or License <code>")
	}
}

func presentNode(credential string) (Presented, error) {
	if sum, ok := ParseNodeSecret(credential); ok {
		return Presented{Kind: KindNode, Secret: sum}, nil
	}
	if strings.HasPrefix(credential, tokenPrefix) || strings.HasPrefix(credential, setupPrefix) || strings.HasPrefix(credential, consolePrefix) {
		return Presented{}, refuse("an API token is for REST: the channel takes a node's own secret")
	}
	return Presented{}, refuse("a node secret is 43 characters of base64url")
}

func presentLicense(code string, secrets []string) (Presented, error) {
	license, ok := ParseLicenseCode(code)
	if !ok {
		return Presented{}, refuse("a license code reads RPL-XXXX-XXXX-… with eight groups")
	}
	if len(secrets) != 1 {
		return Presented{}, refuse("send the node's own new secret in one " + wire.NodeSecretHeader + " header beside the license code")
	}
	secret, ok := ParseNodeSecret(secrets[0])
	if !ok {
		return Presented{}, refuse(wire.NodeSecretHeader + " is 43 characters of base64url")
	}
	return Presented{Kind: KindLicense, Secret: secret, License: license}, nil
}

func refuse(detail string) error { return fleet.Errorf(fleet.CodeUnauthenticated, detail) }
